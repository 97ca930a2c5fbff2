import { describe, expect, test } from 'vitest';
import { logTicks, timeRange, valueRange, valueTicks } from './axis';

const dollars = (value: number) => `$${value.toFixed(4)}`;

describe('value ticks', () => {
  test('all have the decimals of the finest tick', () =>
    expect(valueTicks([2, 2.25, 2.5], dollars)).toEqual(['$2.00', '$2.25', '$2.50']));
  test('whole numbers have none', () => expect(valueTicks([1, 2, 3], dollars)).toEqual(['$1', '$2', '$3']));
  test('a missing tick stays empty', () => expect(valueTicks([null, 1.5], dollars)).toEqual(['', '$1.5']));
});

describe('value range', () => {
  test('without values', () => expect(valueRange(null, null, false)).toEqual([0, 1]));
  test('a flat line is centered', () => expect(valueRange(2, 2, false)).toEqual([1.9, 2.1]));
  test('a flat line at zero has a height', () => expect(valueRange(0, 0, false)).toEqual([-1, 1]));
  test('a logarithmic range is padded by the same factor on both sides', () => {
    const [low, high] = valueRange(1, 100, true);
    expect(low).toBeLessThan(1);
    expect(1 / low).toBeCloseTo(high / 100, 10);
  });
  test('a logarithmic range with zero falls back to a linear one', () => expect(valueRange(0, 10, true)[0]).toBe(0));
});

describe('logarithmic ticks', () => {
  test('are 1, 2 and 5 times powers of ten', () => expect(logTicks(1, 100)).toEqual([1, 2, 5, 10, 20, 50, 100]));
  test('are round steps within a decade', () => expect(logTicks(2.1, 2.6)).toEqual([2.1, 2.2, 2.3, 2.4, 2.5, 2.6]));
  test('stay inside the range', () => {
    for (const tick of logTicks(0.03, 0.9)) expect(tick >= 0.03 && tick <= 0.9).toBe(true);
  });
});

describe('time range', () => {
  test('is that of the points', () => expect(timeRange([10, 15, 20], 10, 20, 3600)).toEqual([10, 20]));
  test('of a single point is the time around it', () =>
    expect(timeRange([7200], 7200, 86_407_200, 3600)).toEqual([3600, 10_800]));
  test('without points', () => expect(timeRange([], null, null, 3600)).toEqual([0, 3600]));
});
