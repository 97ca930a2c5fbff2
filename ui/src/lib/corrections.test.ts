import { describe, expect, test, vi } from 'vitest';
import { changesOf, corrections, mostPages } from './corrections';

describe('corrections', () => {
  /** Serves pages of the API, and notes what was asked. */
  function serve(pages: { data: unknown[]; has_more: boolean; next: string }[]): URL[] {
    const asked: URL[] = [];
    vi.stubGlobal('fetch', (url: string) => {
      asked.push(new URL(url, 'https://assay.example'));
      return Promise.resolve(Response.json(pages[asked.length - 1]));
    });
    return asked;
  }

  test('are read to the end, and listed newest first', async () => {
    const asked = serve([
      { data: ['a', 'b'], has_more: true, next: 'one' },
      { data: ['c'], has_more: false, next: 'two' },
    ]);
    expect(await corrections({ gpu: 'H200', region: '', grain: 'daily' })).toEqual({
      rows: ['c', 'b', 'a'],
      more: false,
    });
    expect(asked.map((url) => url.search)).toEqual([
      '?gpuType=H200&granularity=daily&limit=10000',
      '?gpuType=H200&granularity=daily&limit=10000&since=one',
    ]);
  });

  test('are not read without end', async () => {
    const asked = serve(
      Array.from({ length: mostPages + 1 }, (_, i) => ({ data: [i], has_more: true, next: `cursor ${i}` })),
    );
    const { rows, more } = await corrections({ gpu: '', region: 'eu-west', grain: '' });
    expect([rows[0], more, asked.length]).toEqual([mostPages - 1, true, mostPages]);
  });
});

describe('a corrected row', () => {
  const f = (previous: object | null, current: object | null, row: string, ...changes: string[]) => {
    const got = changesOf({ previous, current } as Parameters<typeof changesOf>[0]);
    expect(got.row).toBe(row);
    expect(got.changes.map(({ field, from, to }) => `${field} ${from} ${to}`)).toEqual(changes);
  };
  const row = { date: '2026-02-03', lab: 'openai', indexPerMtok: 3.2, computedAt: '2026-02-04T01:10:00.000Z' };

  test('names what changed', () =>
    f(row, { ...row, indexPerMtok: 3.3, computedAt: '2026-02-09T08:30:00.000Z' }, 'openai', 'indexPerMtok 3.2 3.3'));
  test('may be new', () => f(null, { lab: 'openai', n: 1 }, 'openai', 'lab – openai', 'n – 1'));
  test('may be gone', () => f({ lab: 'openai', n: 1 }, null, 'openai', 'lab openai –', 'n 1 –'));
  test('compares what is in it', () => f({ x: { a: 1 } }, { x: { a: 2 } }, '', 'x {"a":1} {"a":2}'));
});
