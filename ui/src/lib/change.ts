// How much a line has changed.
import { firstAtLeast, type Line } from './series';

const dayLength = 86_400;

/** A computed number without the digits that are only floating-point noise. */
export const rounded = (value: number, digits: number): number => Number(value.toFixed(digits));

/** The change between two values in percent, with the API's four decimals. Null if one is missing or the first is zero. */
export function percentFrom(before: number | null | undefined, now: number | null | undefined): number | null {
  return before == null || now == null || before === 0 ? null : rounded((now / before - 1) * 100, 4);
}

/** The newest value and its change since the previous one. */
export function newest(line: Line): { at: number; value: number; change: number | null } | null {
  const value = line.values.at(-1);
  if (value == null) return null;
  return { at: line.times.at(-1)! * 1000, value, change: percentFrom(line.values.at(-2), value) };
}

/**
 * The change of the newest value over a number of days: since the newest value that is at least that old. If the
 * reader's window starts up to three days too late for that, since its first value.
 */
export function changeOver(line: Line, days: number): number | null {
  const end = line.times.at(-1);
  if (end === undefined) return null;
  const from = end - days * dayLength;
  const later = firstAtLeast(line.times, from + 1);
  const base = later > 0 ? later - 1 : line.times[0]! - from <= 3 * dayLength ? 0 : -1;
  return base < 0 || base === line.times.length - 1 ? null : percentFrom(line.values[base], line.values.at(-1));
}

/**
 * The change of the mean of the newest days since the mean of as many days before them. Null if there is no value in one of
 * the two.
 */
export function changeOfMean(line: Line, days: number): number | null {
  const end = line.times.at(-1);
  if (end === undefined) return null;
  const middle = firstAtLeast(line.times, end - days * dayLength + 1);
  const start = firstAtLeast(line.times, end - 2 * days * dayLength + 1);
  return percentFrom(mean(line.values.slice(start, middle)), mean(line.values.slice(middle)));
}

function mean(values: (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0) / known.length;
}

export const toneOf = (change: number | null): 'up' | 'down' | '' =>
  change === null || change === 0 ? '' : change > 0 ? 'up' : 'down';
