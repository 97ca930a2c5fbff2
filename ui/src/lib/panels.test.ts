import { expect, test, vi } from 'vitest';
import { readAll } from './panels';

const hour = 3_600_000;
const start = Date.parse('2026-01-01T00:00:00Z');
const row = (i: number) => ({ exact_timestamp: new Date(start + i * hour).toISOString(), value: i });

test('all pages are read and the rows come oldest first', async () => {
  // A server with 25 rows that returns the newest ten up to the end date.
  const all = Array.from({ length: 25 }, (_, i) => row(i));
  const read = vi.fn(async ({ endDate }: { endDate: string }) => {
    const rows = all.filter((one) => Date.parse(one.exact_timestamp) <= Date.parse(endDate)).reverse();
    return { has_more: rows.length > 10, data: rows.slice(0, 10) };
  });
  expect((await readAll(read)).map((one) => one.value)).toEqual(all.map((one) => one.value));
  expect(read).toHaveBeenCalledTimes(3);
});

test('an empty response ends the reading', async () => {
  const read = vi.fn(async () => ({ has_more: true, data: [] }));
  expect(await readAll(read)).toEqual([]);
  expect(read).toHaveBeenCalledTimes(1);
});
