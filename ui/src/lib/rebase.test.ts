import { describe, expect, test } from 'vitest';
import { percentFromStart, rebase, trailingMean } from './rebase';
import type { Line } from './series';

const day = 86_400;
const daily = (values: (number | null)[]): Line => ({
  label: 'Claude PRs',
  color: 'series-1',
  times: values.map((_, i) => i * day),
  values,
});

describe('rebase', () => {
  test('starts at 100', () => expect(rebase(daily([4, 5, 3])).values).toEqual([100, 125, 75]));
  test('starts at the first value that is not missing or zero', () =>
    expect(rebase(daily([null, 0, 4, 8])).values).toEqual([null, 0, 100, 200]));
  test('leaves a line without values unchanged', () =>
    expect(rebase(daily([null, null])).values).toEqual([null, null]));
});

describe('the change since the start', () => {
  test('is zero at the first value', () =>
    expect(percentFromStart(daily([null, 4, 5, 3])).values).toEqual([null, 0, 25, -25]));
  test('of a line without values is missing', () => expect(percentFromStart(daily([null])).values).toEqual([null]));
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
