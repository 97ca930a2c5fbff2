import { describe, expect, test } from 'vitest';
import { between, firstAtLeast, type Line } from './series';

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
