import { expect, test } from 'vitest';
import { bound, cents, effect, index, kilotokens, percent, unitPrice } from './units';

test('figures have the digits that they are published with', () => {
  expect(unitPrice(5.2)).toBe('$5.200');
  expect(bound(5.2)).toBe('5.200');
  expect(cents(0.25)).toBe('0.2500¢');
  expect(kilotokens(12.3)).toBe('12.300k');
  expect(index(100)).toBe('100.00');
  expect(percent(63.126)).toBe('63.13%');
});

test('an effect has a sign, unless it rounds to zero', () => {
  expect(effect(0.12)).toBe('+0.1200¢');
  expect(effect(-0.12)).toBe('−0.1200¢');
  expect(effect(-0.00001)).toBe('0.0000¢');
});
