// The state of a page with a table and a chart, as the address bar holds it: the rows in the chart, the filter, the sort
// column and the range.
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

/** The part of the lines in a range that ends at the newest instant of all lines. */
export function cut<L extends Line>(lines: L[], range: RangeName): L[] {
  const newest = Math.max(0, ...lines.map((line) => line.times.at(-1) ?? 0));
  return lines.map((line) => between(line, startOf(range, newest), Infinity));
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
