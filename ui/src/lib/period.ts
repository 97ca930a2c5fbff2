// The part of a history that a chart shows. The address has a range that ends at the newest value, or two ends, of which
// either may be open: a day, or for hourly values an instant to the minute.
import { day } from './format';
import { firstAtLeast } from './series';

/** Two ends as the address has them. An empty one is open. */
export interface Ends {
  from: string;
  to: string;
}

const aDay = /^\d{4}-\d\d-\d\d$/;
const anInstant = /^\d{4}-\d\d-\d\dT\d\d:\d\dZ$/;

/** The end that a text of the address means; empty if it means none. */
export function readEnd(text: string): string {
  return (aDay.test(text) || anInstant.test(text)) && !Number.isNaN(Date.parse(text)) ? text : '';
}

/** The instants between two ends, in seconds. A day as the second end is included whole. */
export function spanOf({ from, to }: Ends): { from: number; to: number } {
  const last = Date.parse(to) / 1000;
  return {
    from: from ? Date.parse(from) / 1000 : -Infinity,
    to: to ? (aDay.test(to) ? last + 86_399 : last) : Infinity,
  };
}

/** The end that stands for an instant in milliseconds, with the time of day if hours are shown. */
export function endAt(at: number, hourly: boolean): string {
  return hourly ? `${new Date(at).toISOString().slice(0, 16)}Z` : day(at);
}

/** Brings two ends into order, and into the part for which there are values, in seconds. */
export function within(ends: Ends, oldest: number, newest: number, hourly: boolean): Ends {
  const clamp = (text: string) => {
    if (text === '' || oldest > newest) return text;
    const at = Date.parse(text) / 1000;
    if (at < oldest) return endAt(oldest * 1000, hourly);
    return at > newest ? endAt(newest * 1000, hourly) : text;
  };
  const from = clamp(ends.from);
  const to = clamp(ends.to);
  return from && to && Date.parse(from) > Date.parse(to) ? { from: to, to: from } : { from, to };
}

/**
 * The points that a part of a chart is zoomed to: those inside, and the next ones outside where fewer than two are inside,
 * so that no zoom leaves an empty chart.
 */
export function zoomTo(times: number[], from: number, to: number): { from: number; to: number } {
  let first = firstAtLeast(times, from);
  let last = firstAtLeast(times, to + 0.001) - 1;
  while (last - first < 1 && (first > 0 || last < times.length - 1)) {
    if (first > 0) first--;
    if (last < times.length - 1) last++;
  }
  return { from: times[first] ?? from, to: times[last] ?? to };
}
