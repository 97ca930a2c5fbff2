// The view of a page that has a table and a chart, as the address bar holds it: the rows that are drawn, the words they are
// filtered by, the column they are sorted by, the range.
import { address, setParams } from './router.svelte';
import { between, lineColors, ranges, type Line, type RangeName } from './series';

/** How many lines a chart can show: one a color. */
export const mostLines = lineColors.length;

/** The ranges of a chart of daily values. */
export const dailyRanges = ranges.filter((range) => range.value !== '1D');

/** A line of a comparison, with the name by which the API and the address bar know it. */
export interface NamedLine extends Line {
  id: string;
}

/** The range that is shown, of those that the reader may have. */
export function rangeOf(
  otherwise: RangeName,
  locked: (range: RangeName) => string | undefined = () => undefined,
): RangeName {
  const asked = dailyRanges.find((range) => range.value === address.param('range'))?.value;
  return asked && locked(asked) === undefined ? asked : otherwise;
}

/** The part of the lines that lies in the range, counted back from the newest instant of all. */
export function cut<L extends Line>(lines: L[], range: RangeName): L[] {
  const newest = Math.max(0, ...lines.map((line) => line.times.at(-1) ?? 0));
  const days = ranges.find((known) => known.value === range)!.days;
  return lines.map((line) => between(line, newest - days * 86_400, Infinity));
}

/** The rows that are drawn, of those that there are. An address that says nothing means some to begin with. */
export function chosenOf(known: string[], otherwise: string[]): string[] {
  const asked = address.param('show');
  if (asked === 'none') return [];
  const chosen = [...new Set(asked.split(','))].filter((id) => known.includes(id));
  return (chosen.length > 0 ? chosen : otherwise).slice(0, mostLines);
}

/** Draws a row, or takes it off the chart. */
export function toggle(chosen: string[], id: string): void {
  const next = chosen.includes(id) ? chosen.filter((other) => other !== id) : [...chosen, id];
  setParams({ show: next.join(',') || 'none' });
}

/** The column by which the table is sorted; a minus before its key means the highest first. */
export function sortOf(otherwise = ''): { key: string; descending: boolean } {
  const text = address.param('sort', otherwise);
  return text.startsWith('-') ? { key: text.slice(1), descending: true } : { key: text, descending: false };
}

export const setSort = (key: string, descending: boolean): void => setParams({ sort: (descending ? '-' : '') + key });

/** Whether each of the reader's words stands in one of the texts. */
export function matches(filter: string, ...texts: string[]): boolean {
  const all = texts.join(' ').toLowerCase();
  return filter
    .toLowerCase()
    .split(/\s+/)
    .every((word) => all.includes(word));
}
