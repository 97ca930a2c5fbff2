// By how much a line has moved.
import { firstAtLeast, type Line } from './series';

const dayLength = 86_400;

/** A figure that was computed here, without the digits that are only noise. */
export const rounded = (value: number, digits: number): number => Number(value.toFixed(digits));

/** The change from one value to another in percent, to four decimals as the API has it; none without both, or from nothing. */
export function percentFrom(before: number | null | undefined, now: number | null | undefined): number | null {
  return before == null || now == null || before === 0 ? null : rounded((now / before - 1) * 100, 4);
}

/** The newest value and the change since the value before. */
export function newest(line: Line): { at: number; value: number; change: number | null } | null {
  const value = line.values.at(-1);
  if (value == null) return null;
  return { at: line.times.at(-1)! * 1000, value, change: percentFrom(line.values.at(-2), value) };
}

/**
 * The change of the newest value over a number of days: since the newest value that is at least so old. Where the reader's
 * window begins up to three days later, since its first value.
 */
export function changeOver(line: Line, days: number): number | null {
  const end = line.times.at(-1);
  if (end === undefined) return null;
  const from = end - days * dayLength;
  const later = firstAtLeast(line.times, from + 1);
  const place = later > 0 ? later - 1 : line.times[0]! - from <= 3 * dayLength ? 0 : -1;
  return place < 0 || place === line.times.length - 1 ? null : percentFrom(line.values[place], line.values.at(-1));
}

export const toneOf = (change: number | null): 'up' | 'down' | '' =>
  change === null || change === 0 ? '' : change > 0 ? 'up' : 'down';
