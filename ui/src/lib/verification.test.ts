import { beforeEach, describe, expect, test, vi } from 'vitest';
import { clearCache } from './api';
import vectors from './testdata/verify.json';
import { acceptKey, keepWitnessKeys, keptLogs, verifyResponse, witnessKeys } from './verification';

const vector = vectors.find(({ name }) => name === 'same key')!;
const kept = vector.kept![0]!;
const checkpoint = JSON.parse(vector.response).inclusion.checkpoint as string;

/** What the server responds with; a number is the status of an error. */
let server: Record<string, string | number>;
let stored: Map<string, string>;
let asked: string[];

beforeEach(() => {
  clearCache();
  server = {
    '/log/vkey': vector.key,
    '/log/keys': 404,
    '/api/log/consistency?from=200&to=300': JSON.stringify({ data: { hashes: vector.consistency } }),
  };
  stored = new Map();
  asked = [];
  vi.stubGlobal('localStorage', {
    getItem: (name: string) => stored.get(name) ?? null,
    setItem: (name: string, value: string) => stored.set(name, value),
  });
  vi.stubGlobal('fetch', async (url: string) => {
    asked.push(url);
    const response = server[url] ?? 404;
    return typeof response === 'string'
      ? new Response(response)
      : Response.json({ message: 'No data.' }, { status: response });
  });
});

const verdict = async () => (await verifyResponse(vector.response, {})).verdict;
const keeps = (value: unknown) => stored.set('assay.logs', JSON.stringify(value));

test('the first visit keeps the key and the checkpoint', async () => {
  expect(await verdict()).toBe('verified');
  expect(keptLogs()).toEqual([{ log: 'assay/test', key: vector.key, checkpoint }]);
  expect(asked).toEqual(['/log/vkey', '/log/keys']);
});

describe('a later visit', () => {
  test('asks for the proof that the log only grew', async () => {
    keeps([kept]);
    expect(await verdict()).toBe('verified');
    expect(asked).toContain('/api/log/consistency?from=200&to=300');
    expect(keptLogs()).toEqual([{ ...kept, checkpoint }]);
  });
  test('fails if the server has no such proof', async () => {
    keeps([kept]);
    delete server['/api/log/consistency?from=200&to=300'];
    expect(await verdict()).toBe('failed');
    expect(keptLogs()).toEqual([kept]);
  });
  test('has no verdict while the server cannot respond', async () => {
    keeps([kept]);
    server['/api/log/consistency?from=200&to=300'] = 503;
    await expect(verdict()).rejects.toThrow('No data.');
  });
  test('reads the key again', async () => {
    await verdict();
    await verdict();
    expect(asked.filter((url) => url === '/log/vkey')).toHaveLength(2);
  });
});

test('an accepted key replaces the kept one, not the checkpoint', () => {
  keeps([{ ...kept, log: 'assay/before' }, kept]);
  acceptKey('assay/test+00000000+AAAA');
  expect(keptLogs()).toEqual([
    { ...kept, log: 'assay/before' },
    { ...kept, key: 'assay/test+00000000+AAAA' },
  ]);
});

test('keys of witnesses are kept', () => {
  keepWitnessKeys(['w.example+00000000+AAAA']);
  expect(witnessKeys()).toEqual(['w.example+00000000+AAAA']);
});

test('without storage every visit is the first', async () => {
  vi.stubGlobal('localStorage', undefined);
  expect(await verdict()).toBe('verified');
  expect(keptLogs()).toEqual([]);
});
