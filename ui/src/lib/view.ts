// The state of a page with a table and a chart, as the address bar holds it: the rows in the chart, the filter, the sort
// column, the range, the part that it is zoomed to, and the scale.
import { endAt, readEnd, spanOf, zoomTo, type Ends } from './period';
import { address, setParams } from './router.svelte';
import { between, lineColors, ranges, startOf, type Line, type RangeName } from './series';

/** How many lines a chart can show: one per color. */
export const maxLines = lineColors.length;

/** The ranges of a chart of daily values. */
export const dailyRanges = ranges.filter((range) => range !== '1D');

/** A line of a comparison, with its identifier in the API and the address bar. */
export interface NamedLine extends Line {
  id: string;
}

/** The range in the address if the reader may see it, else a default. */
export function rangeOf(
  fallback: RangeName,
  locked: (range: RangeName) => string | undefined = () => undefined,
): RangeName {
  const wanted = dailyRanges.find((range) => range === address.param('range'));
  return wanted && locked(wanted) === undefined ? wanted : fallback;
}

/** The part that the chart is zoomed to. Without a zoom, both ends are open. */
export const zoomed = (): Ends => ({ from: readEnd(address.param('from')), to: readEnd(address.param('to')) });

export const isZoomed = (): boolean => Object.values(zoomed()).some((end) => end !== '');

// What Back undoes: other ranges and zooms.
export const chooseRange = (range: RangeName): void => setParams({ range, from: '', to: '' }, true);
export const zoomOut = (): void => void (isZoomed() && setParams({ from: '', to: '' }, true));

/** Zooms to the values between two instants, in seconds. */
export function zoom(lines: Line[], from: number, to: number, hourly = false): void {
  const times = [...new Set(lines.flatMap((line) => line.times))].sort((a, b) => a - b);
  const part = zoomTo(times, from, to);
  setParams({ from: endAt(part.from * 1000, hourly), to: endAt(part.to * 1000, hourly) }, true);
}

/** The first and the last instant with a value, in seconds; infinite if there is none. */
export const extentOf = (lines: Line[]): { oldest: number; newest: number } => ({
  oldest: Math.min(Infinity, ...lines.map((line) => line.times[0] ?? Infinity)),
  newest: Math.max(-Infinity, ...lines.map((line) => line.times.at(-1) ?? -Infinity)),
});

/** What is shown, in seconds: what the chart is zoomed to, or a range that ends at the newest value. */
export function shownSpan(range: RangeName, newest: number): { from: number; to: number } {
  return isZoomed() ? spanOf(zoomed()) : { from: startOf(range, newest), to: Infinity };
}

/** The part of the lines that is shown. */
export function cut<L extends Line>(lines: L[], range: RangeName): L[] {
  const { from, to } = shownSpan(range, Math.max(0, extentOf(lines).newest));
  return lines.map((line) => between(line, from, to));
}

/** How values are drawn: as they are, or one line compared with another. */
export type Scale = 'linear' | 'log' | 'percent' | 'ratio' | 'spread';

/** The scale in the address, if the page has it. Addresses of earlier releases say index for what is now in percent. */
export function scaleOf(among: readonly Scale[]): Scale {
  const wanted = address.param('scale') === 'index' ? 'percent' : address.param('scale');
  return among.find((known) => known === wanted) ?? 'linear';
}

/** The rows in the chart: those in the address that exist, else a default. */
export function chosenOf(known: string[], fallback: string[]): string[] {
  const wanted = address.param('show');
  if (wanted === 'none') return [];
  const chosen = [...new Set(wanted.split(','))].filter((id) => known.includes(id));
  return (chosen.length > 0 ? chosen : fallback).slice(0, maxLines);
}

/** Adds a row to the chart, or removes it. */
export function toggle(chosen: string[], id: string): void {
  const next = chosen.includes(id) ? chosen.filter((other) => other !== id) : [...chosen, id];
  setParams({ show: next.join(',') || 'none' });
}

/** The sort column of the table. A minus before its key means descending. */
export function sortOf(fallback = ''): { key: string; descending: boolean } {
  const text = address.param('sort', fallback);
  return text.startsWith('-') ? { key: text.slice(1), descending: true } : { key: text, descending: false };
}

export const setSort = (key: string, descending: boolean): void => setParams({ sort: (descending ? '-' : '') + key });

/** Whether each word of a filter occurs in one of the texts. */
export function matches(filter: string, ...texts: string[]): boolean {
  const all = texts.join(' ').toLowerCase();
  return filter
    .toLowerCase()
    .split(/\s+/)
    .every((word) => all.includes(word));
}
