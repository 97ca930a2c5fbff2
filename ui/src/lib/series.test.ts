import { describe, expect, test } from 'vitest';
import { between, firstAtLeast, startOf, type Line } from './series';

const line: Line = { label: 'H200', color: 'series-1', times: [10, 20, 30], values: [1, null, 3] };

describe('firstAtLeast', () => {
  test.each([
    [5, 0],
    [10, 0],
    [11, 1],
    [30, 2],
    [31, 3],
  ])('at %i', (at, index) => expect(firstAtLeast(line.times, at)).toBe(index));
  test('without instants', () => expect(firstAtLeast([], 5)).toBe(0));
});

describe('between', () => {
  test('includes both ends', () => expect(between(line, 10, 20)).toMatchObject({ times: [10, 20], values: [1, null] }));
  test('can be empty', () => expect(between(line, 21, 29).times).toEqual([]));
  test('returns the same line if nothing is cut', () => expect(between(line, -Infinity, Infinity)).toBe(line));
});

describe('a range begins', () => {
  const newest = Date.parse('2026-11-14T21:00:00Z') / 1000;
  test.each([
    ['1D', '2026-11-13T21:00:00.000Z'],
    ['1W', '2026-11-07T21:00:00.000Z'],
    ['YTD', '2026-01-01T00:00:00.000Z'],
    ['1Y', '2025-11-13T21:00:00.000Z'],
  ] as const)('%s', (range, start) => expect(new Date(startOf(range, newest) * 1000).toISOString()).toBe(start));
  test('never', () => expect(startOf('All', newest)).toBe(-Infinity));
});
