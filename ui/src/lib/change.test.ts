import { describe, expect, test } from 'vitest';
import { changeOfMean, changeOver, newest, percentFrom, toneOf } from './change';
import type { Line } from './series';

const day = 86_400;
const daily = (values: (number | null)[]): Line => ({
  label: 'H200',
  color: 'series-1',
  times: values.map((_, i) => i * day),
  values,
});

describe('percentFrom', () => {
  test('has four decimals, like the API', () => expect(percentFrom(3, 4)).toBe(33.3333));
  test('a missing value gives null', () => expect(percentFrom(null, 4)).toBeNull());
  test('zero is no base', () => expect(percentFrom(0, 4)).toBeNull());
});

describe('newest', () => {
  test('compares with the previous value', () =>
    expect(newest(daily([1, 2, 3]))).toEqual({ at: 2 * day * 1000, value: 3, change: 50 }));
  test('a single value has no change', () => expect(newest(daily([5]))?.change).toBeNull());
  test('an empty line has none', () => expect(newest(daily([]))).toBeNull());
});

describe('changeOver', () => {
  test('counts from the newest value that is old enough', () => expect(changeOver(daily([1, 2, 4]), 1)).toBe(100));
  test('uses the value before a gap', () => {
    const line = { ...daily([1, 2, 4]), times: [0, 5 * day, 10 * day] };
    expect(changeOver(line, 7)).toBe(300);
  });
  test('accepts a window that starts up to three days late', () => {
    expect(changeOver(daily([2, 2, 2, 2, 4]), 7)).toBe(100);
    expect(changeOver(daily([2, 2, 2, 4]), 7)).toBeNull();
  });
  test('needs two values', () => expect(changeOver(daily([2]), 1)).toBeNull());
});

describe('changeOfMean', () => {
  const week = [10, 10, 10, 10, 10, 3, 3]; // of which two days are the weekend
  test('compares weeks, whatever the weekday', () => {
    expect(changeOfMean(daily([...week, ...week]), 7)).toBe(0);
    expect(changeOfMean(daily([...week, ...week.map((value) => value * 1.5)]), 7)).toBe(50);
    expect(changeOfMean(daily([...week.slice(3), ...week, ...week.slice(0, 3)]), 7)).toBe(0);
  });
  test('leaves out days without a value', () => expect(changeOfMean(daily([1, null, 2, null]), 2)).toBe(100));
  test('needs both halves', () => {
    expect(changeOfMean(daily([1, 2]), 7)).toBeNull();
    expect(changeOfMean(daily([]), 7)).toBeNull();
  });
});

test('tone', () => expect([0.1, -0.1, 0, null].map(toneOf)).toEqual(['up', 'down', '', '']));
