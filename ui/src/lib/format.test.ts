import { describe, expect, test } from 'vitest';
import { change, clock, day, duration, exact, fixing, instant, price, share, short } from './format';

describe('times are UTC', () => {
  const winterFixing = '2026-11-14T21:00:00.123Z';

  test('day', () => expect(day(winterFixing)).toBe('2026-11-14'));
  test('day of an instant just before midnight', () => expect(day('2026-11-14T23:59:59.999Z')).toBe('2026-11-14'));
  test('instant', () => expect(instant(winterFixing)).toBe('2026-11-14 21:00 UTC'));
  test('exact instant', () => expect(exact(winterFixing)).toBe('2026-11-14 21:00:00.123 UTC'));
  test('fixing in winter', () => expect(fixing(winterFixing)).toBe('2026-11-14 21:00 UTC (16:00 New York fixing)'));
  test('fixing in summer', () =>
    expect(fixing('2026-07-14T20:00:00Z')).toBe('2026-07-14 20:00 UTC (16:00 New York fixing)'));
});

describe('change has a sign and two decimals', () => {
  test.each([
    [1.5, '+1.50%'],
    [-0.254, '−0.25%'],
    [0, '0.00%'],
  ])('%f', (percent, text) => expect(change(percent)).toBe(text));
});

describe('duration uses the largest unit that is still precise', () => {
  test.each([
    [89, '89 s'],
    [90, '2 min'],
    [5399, '90 min'],
    [5400, '2 h'],
    [172_799, '48 h'],
    [172_800, '2 d'],
  ])('%i seconds', (seconds, text) => expect(duration(seconds)).toBe(text));
});

test('a clock counts down to the second, with days only if there are any', () => {
  expect(clock(3 * 86_400 - 1)).toBe('2 d 23:59:59');
  expect(clock(61)).toBe('00:01:01');
});

test('a price keeps the four decimals that it was published with', () => {
  expect(price(2.5)).toBe('$2.5000');
  expect(price(1234.5678)).toBe('$1,234.5678');
});

test('shares and large numbers are shortened', () => {
  expect(share(0.12345)).toBe('12.3%');
  expect(short(1_234_567)).toBe('1.2M');
});
