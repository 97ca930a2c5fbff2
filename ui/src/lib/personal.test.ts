import { beforeEach, describe, expect, test, vi } from 'vitest';
import { clearCache } from './api';
import { changeWatchlist, nameOfView, savedViews, saveView, withChange } from './personal';

beforeEach(() => clearCache());

describe('a change of the watchlist', () => {
  const f = (name: string, gpus: string[], gpu: string, watch: boolean, want: string[]) =>
    test(name, () => expect(withChange(gpus, { gpu, watch })).toEqual(want));
  f('adds at the end', ['H200'], 'B200', true, ['H200', 'B200']);
  f('adds once', ['H200', 'B200'], 'H200', true, ['H200', 'B200']);
  f('removes', ['H200', 'B200'], 'H200', false, ['B200']);
  f('removes nothing that it lacks', ['B200'], 'H200', false, ['B200']);
});

/** A server whose watchlist others change between a read and a write, so many times. */
function serveWatchlist(gpus: string[], others: string[]) {
  const version = () => gpus.join();
  const written: string[][] = [];
  vi.stubGlobal('fetch', async (_: string, init: RequestInit) => {
    if (init.method === 'PUT') {
      const next = others.shift();
      if (next) gpus = [...gpus, next];
      const sent = JSON.parse(init.body as string) as { gpu_types: string[]; version: string };
      if (sent.version !== version())
        return Response.json({ message: 'It has changed.', code: 'watchlist_changed' }, { status: 409 });
      gpus = sent.gpu_types;
      written.push(gpus);
    }
    return Response.json({ success: true, data: { gpu_types: gpus, version: version() } });
  });
  return written;
}

describe('the watchlist of two windows', () => {
  const before = { gpu_types: ['H200'], version: 'H200' };
  test('keeps what both have added', async () => {
    const written = serveWatchlist(['H200'], ['B200', 'A100']);
    const list = await changeWatchlist(before, { gpu: 'H100', watch: true });
    expect(list.gpu_types).toEqual(['H200', 'B200', 'A100', 'H100']);
    expect(written).toEqual([['H200', 'B200', 'A100', 'H100']]);
  });
  test('is read first when it is not known', async () => {
    serveWatchlist(['H200'], []);
    expect((await changeWatchlist(undefined, { gpu: 'H200', watch: false })).gpu_types).toEqual([]);
  });
  test('that changes without an end is given up', async () => {
    const written = serveWatchlist(['H200'], ['a', 'b', 'c', 'd', 'e']);
    await expect(changeWatchlist(before, { gpu: 'H100', watch: true })).rejects.toMatchObject({ status: 409 });
    expect(written).toEqual([]);
  });
});

test('a model that is no longer published does not keep another from being added', async () => {
  let published = ['H200', 'B200'];
  vi.stubGlobal('fetch', async (_: string, init: RequestInit) => {
    if (init.method === 'PUT') {
      const { gpu_types } = JSON.parse(init.body as string) as { gpu_types: string[] };
      if (gpu_types.includes('A100')) return Response.json({ code: 'unknown_gpu' }, { status: 400 });
      published = gpu_types;
    }
    return Response.json({ data: { gpu_types: published.filter((gpu) => gpu !== 'A100'), version: 'v' } });
  });
  const before = { gpu_types: ['A100', 'H200'], version: 'before' };
  const list = await changeWatchlist(before, { gpu: 'H100', watch: true });
  expect(list.gpu_types).toEqual(['H200', 'B200', 'H100']);
  // The model that is added itself may be the one that is not published.
  await expect(changeWatchlist(list, { gpu: 'A100', watch: true })).rejects.toMatchObject({ code: 'unknown_gpu' });
});

test('the list of views is read again after one was saved, also if that failed', async () => {
  let stored: string[] = [];
  vi.stubGlobal('fetch', async (_: string, init: RequestInit) => {
    if (init.method === 'POST') {
      stored = [...stored, (JSON.parse(init.body as string) as { name: string }).name];
      throw new TypeError('the connection broke');
    }
    return Response.json({ data: stored.map((name) => ({ name })) });
  });
  expect(await savedViews()).toEqual([]);
  await expect(saveView('Memory', '/memory')).rejects.toMatchObject({ code: 'unreachable' });
  expect(await savedViews()).toEqual([{ name: 'Memory' }]);
});

describe('the name of a view', () => {
  const f = (address: string, want: string, ...taken: string[]) =>
    test(`${address} ${taken.length}`, () => {
      const url = new URL(address, 'https://assay.example');
      expect(nameOfView(url.pathname, url.searchParams, taken)).toBe(want);
    });
  f('/memory', 'Memory');
  f('/gpu/H100%20SXM?compare=H200,B200&region=us-east&range=1Y&scale=log', 'H100 SXM, H200, B200 in us-east · 1Y');
  f('/gpu/H200?range=1Y&from=2026-01-01&to=2026-02-01', 'H200 · from 2026-01-01 · to 2026-02-01');
  f('/memory?category=dram&filter=ddr5', 'Memory · dram · ddr5');
  f('/memory', 'Memory (2)', 'Memory');
  f('/memory', 'Memory (3)', 'Memory', 'Memory (2)');
  const long = 'x'.repeat(200);
  f(`/memory?filter=${long}`, `Memory · ${'x'.repeat(71)}`);
  f(`/memory?filter=${long}`, `Memory · ${'x'.repeat(67)} (2)`, `Memory · ${'x'.repeat(71)}`);
});
