import { describe, expect, test } from 'vitest';
import { percentFromStart, ratio, spread, trailingMean } from './rebase';
import type { Line } from './series';

const day = 86_400;
const daily = (values: (number | null)[]): Line => ({
  label: 'Claude PRs',
  color: 'series-1',
  times: values.map((_, i) => i * day),
  values,
});

describe('the change since the start', () => {
  test('is zero at the first value', () =>
    expect(percentFromStart(daily([null, 4, 5, 3])).values).toEqual([null, 0, 25, -25]));
  test('is from the first value that is not zero', () =>
    expect(percentFromStart(daily([0, 4, 8])).values).toEqual([-100, 0, 100]));
  test('of a line without values is missing', () => expect(percentFromStart(daily([null])).values).toEqual([null]));
});

describe('two lines as one', () => {
  const other = { ...daily([2, null, 0, 4]), label: 'Codex PRs', color: 'series-2' as const };
  test('the ratio', () => {
    const line = ratio(daily([3, 4, 5]), other);
    expect(line).toEqual({
      label: 'Claude PRs / Codex PRs',
      color: 'series-2',
      times: [0, day, 2 * day],
      values: [1.5, null, null],
    });
  });
  test('the spread', () => expect(spread(daily([3, 4, 5.5]), other).values).toEqual([1, null, 5.5]));
  test('has the instants that both have', () =>
    expect(spread({ ...daily([1, 2]), times: [day, 9 * day] }, other).times).toEqual([day]));
});

describe('trailing mean', () => {
  test('covers the days up to each value', () =>
    expect(trailingMean(daily([1, 2, 3, 4]), 2).values).toEqual([1, 1.5, 2.5, 3.5]));
  test('skips missing values', () => expect(trailingMean(daily([1, null, 3]), 3).values).toEqual([1, null, 2]));
  test('counts days, not values', () => {
    const line = { ...daily([1, 3, 5]), times: [0, 5 * day, 6 * day] };
    expect(trailingMean(line, 2).values).toEqual([1, 3, 4]);
  });
  test('a week hides weekends', () => {
    const weeks = Array.from({ length: 28 }, (_, i) => (i % 7 < 5 ? 100 : 30));
    expect(new Set(trailingMean(daily(weeks), 7).values.slice(7))).toEqual(new Set([80]));
  });
});
