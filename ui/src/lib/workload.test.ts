import { describe, expect, test } from 'vitest';
import { changeSince, periodsOf, sumOf, type Family } from './workload';

const at = (date: string) => Date.parse(date) / 1000;
const effect = (price: number, intensity = 0, mix = 0) => ({ price, intensity, mix });

// Ten days; the effects of each day add up to the change of its cost.
const costs = [1, 1.1, 1.3, 1.2, 1.2, 1.5, 1.4, 1.4, 1.6, 2];
const family: Family = {
  family: 'all',
  times: costs.map((_, i) => at('2026-10-27') + i * 86_400),
  cost: costs,
  lfl: costs,
  tokens: costs,
  effects: costs.map((cost, i) => effect(i === 0 ? 0 : cost - costs[i - 1]!)),
};

describe('change since', () => {
  test('the effects after the first day add up to the difference of the costs', () => {
    const change = changeSince(family, at('2026-10-28'))!;
    expect(change.start.cost).toBe(1.1);
    expect(change.end.cost).toBe(2);
    expect(change.change).toBe(0.9);
    expect(sumOf(change)).toBe(0.9);
  });
  test('is null after the last day', () => expect(changeSince(family, at('2027-01-01'))).toBeNull());
});

describe('periods', () => {
  test('by day, without the first day', () => {
    const periods = periodsOf(family, -Infinity, 'day');
    expect(periods).toHaveLength(9);
    expect(periods[0]!.name).toBe('2026-10-28');
  });
  test('by week, counted back from the newest day', () =>
    expect(periodsOf(family, -Infinity, 'week').map((period) => period.name)).toEqual([
      '7 days to 2026-10-29',
      '7 days to 2026-11-05',
    ]));
  test('by month', () =>
    expect(periodsOf(family, -Infinity, 'month').map((period) => period.name)).toEqual(['2026-10', '2026-11']));
  test.each(['day', 'week', 'month'] as const)('by %s the periods add up to the change', (step) => {
    const sum = periodsOf(family, -Infinity, step).reduce((total, period) => total + sumOf(period), 0);
    expect(sum).toBeCloseTo(1, 9);
  });
});
