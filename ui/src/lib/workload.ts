// Workload: what a typical request to a lab's models costs, and why that cost changes.
import { get } from './api';
import { rounded } from './change';
import { firstAtLeast } from './series';

/** The effects that explain the change of a cost, in drawing order. */
export const effects = [
  { key: 'price', label: 'Price', color: 'series-1' },
  { key: 'intensity', label: 'Intensity', color: 'series-2' },
  { key: 'mix', label: 'Mix', color: 'series-3' },
] as const;

export type Effects = Record<(typeof effects)[number]['key'], number>;

/** A family of a lab's models, by day: ascending instants in seconds, and the figures of each. */
export interface Family {
  family: string;
  times: number[];
  cost: number[];
  lfl: number[];
  tokens: number[];
  effects: Effects[];
}

/** Reads all families of one lab, `all` first. All labs together would be a large response. */
export async function families(lab: string): Promise<Family[]> {
  const response = await get('/api/workload', { query: { lab } });
  const found = new Map<string, Family>();
  for (const row of response.data) {
    let family = found.get(row.family);
    if (!family)
      found.set(row.family, (family = { family: row.family, times: [], cost: [], lfl: [], tokens: [], effects: [] }));
    family.times.push(Date.parse(row.date) / 1000);
    family.cost.push(row.cCents);
    family.lfl.push(row.lfl);
    family.tokens.push(row.qKtok);
    family.effects.push({ price: row.priceEffect, intensity: row.intensityEffect, mix: row.mixEffect });
  }
  return [...found.values()].sort(
    (a, b) => Number(b.family === 'all') - Number(a.family === 'all') || (a.family < b.family ? -1 : 1),
  );
}

/** The change of a cost from its first to its last value in a range. The effects of the days after the first add up to it. */
export interface Change extends Effects {
  start: { at: number; cost: number };
  end: { at: number; cost: number };
  change: number;
}

export function changeSince(family: Family, from: number): Change | null {
  const first = firstAtLeast(family.times, from);
  const last = family.times.length - 1;
  if (first > last) return null;
  const sum = add(family.effects.slice(first + 1));
  const point = (i: number) => ({ at: family.times[i]! * 1000, cost: family.cost[i]! });
  return { ...sum, start: point(first), end: point(last), change: sumOf(sum) };
}

export type Step = 'day' | 'week' | 'month';

/** The effects of one period of a range: a day, seven days or a calendar month. */
export interface Period extends Effects {
  at: number;
  name: string;
}

const dayLength = 86_400;
const dayText = (seconds: number) => new Date(seconds * 1000).toISOString().slice(0, 10);

/** The effects after the first day of the range, by period. Weeks are counted back from the newest day. */
export function periodsOf(family: Family, from: number, step: Step): Period[] {
  const first = firstAtLeast(family.times, from) + 1;
  const newest = family.times.at(-1) ?? 0;
  const periods = new Map<number, { name: string; rows: Effects[] }>();
  for (let i = first; i < family.times.length; i++) {
    const period = periodAt(family.times[i]!, newest, step);
    const known = periods.get(period.at);
    if (known) known.rows.push(family.effects[i]!);
    else periods.set(period.at, { name: period.name, rows: [family.effects[i]!] });
  }
  return [...periods].map(([at, { name, rows }]) => ({ at, name, ...add(rows) }));
}

function periodAt(time: number, newest: number, step: Step): { at: number; name: string } {
  if (step === 'day') return { at: time, name: dayText(time) };
  if (step === 'month')
    return { at: Date.parse(`${dayText(time).slice(0, 7)}-01`) / 1000, name: dayText(time).slice(0, 7) };
  const end = newest - Math.floor((newest - time) / (7 * dayLength)) * 7 * dayLength;
  return { at: end, name: `7 days to ${dayText(end)}` };
}

/** The sum of the effects. */
export const sumOf = (effects: Effects): number => rounded(effects.price + effects.intensity + effects.mix, 9);

function add(rows: Effects[]): Effects {
  const sum = { price: 0, intensity: 0, mix: 0 };
  for (const row of rows) {
    sum.price += row.price;
    sum.intensity += row.intensity;
    sum.mix += row.mix;
  }
  // Costs have nine decimals, so every sum of effects has them too.
  return { price: rounded(sum.price, 9), intensity: rounded(sum.intensity, 9), mix: rounded(sum.mix, 9) };
}
