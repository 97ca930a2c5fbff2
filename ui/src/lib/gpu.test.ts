import { describe, expect, test } from 'vitest';
import { withPoint, type History } from './gpu';
import { isAfterGap, withPrint, type Realtime } from './panels';

const point = (hour: number, index_value: number) => ({
  timestamp: `2026-02-03T${String(hour).padStart(2, '0')}:00:00.000Z`,
  index_value,
});

describe('a value joins a history', () => {
  const history = { gpu_type: 'H200', count: 2, data: [point(1, 1), point(3, 3)] } as unknown as History;
  const f = (name: string, hour: number, want: number[]) =>
    test(name, () => {
      const next = withPoint(history, point(hour, 9));
      expect(next.data.map((one) => one.index_value)).toEqual(want);
      expect(next.count).toBe(want.length);
      expect(history.data).toHaveLength(2);
    });
  f('at its end', 4, [1, 3, 9]);
  f('in its middle', 2, [1, 9, 3]);
  f('at its beginning', 0, [9, 1, 3]);
  f('in place of another at its instant', 3, [1, 9]);
});

describe('a print joins those of the last hour', () => {
  const print = (minute: number) => ({
    timestamp: new Date(Date.UTC(2026, 1, 3, 10, minute)).toISOString(),
    index_value: minute,
    transactions: 1,
    gpu_hours: 2,
  });
  const shown = {
    count: 2,
    latest: { ...print(30), window_seconds: 3600 },
    data: [print(-29), print(30)],
  } as unknown as Realtime;

  test('it is the latest, and what is older than an hour leaves', () => {
    const next = withPrint(shown, print(31));
    expect(next.latest).toEqual({ ...print(31), window_seconds: 3600 });
    expect(next.data).toEqual([print(30), print(31)]);
  });
  test('one that is known changes nothing', () => expect(withPrint(shown, print(30))).toBe(shown));
  test('the next minute is no gap', () => expect(isAfterGap(shown, print(31))).toBe(false));
  test('a later one is', () => expect(isAfterGap(shown, print(32))).toBe(true));
});
