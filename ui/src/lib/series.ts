// Lines of a chart, and ranges of them.

/** A line: ascending instants in seconds, and a value for each. */
export interface Line {
  label: string;
  color: Color;
  times: number[];
  values: (number | null)[];
}

export type Color = `series-${1 | 2 | 3 | 4 | 5 | 6}`;

export const lineColors: Color[] = ['series-1', 'series-2', 'series-3', 'series-4', 'series-5', 'series-6'];

/** The ranges that can be picked. Each ends at the newest value. */
export const ranges = ['1D', '1W', '1M', '3M', 'YTD', '1Y', 'All'] as const;

export type RangeName = (typeof ranges)[number];

const day = 86_400;
const lengths = { '1D': day, '1W': 7 * day, '1M': 31 * day, '3M': 92 * day, '1Y': 366 * day, All: Infinity };

/** Where a range begins whose newest value is at the given instant, both in seconds. */
export function startOf(range: RangeName, newest: number): number {
  if (range === 'YTD') return Date.UTC(new Date(newest * 1000).getUTCFullYear(), 0) / 1000;
  return newest - lengths[range];
}

/** The part of a line between two instants, inclusive. */
export function between<L extends Line>(line: L, from: number, to: number): L {
  const start = firstAtLeast(line.times, from);
  const end = firstAtLeast(line.times, to + 0.001);
  if (start === 0 && end === line.times.length) return line;
  return { ...line, times: line.times.slice(start, end), values: line.values.slice(start, end) };
}

/** The index of the first instant that is not before the given one. */
export function firstAtLeast(times: number[], at: number): number {
  let low = 0;
  let high = times.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle]! < at) low = middle + 1;
    else high = middle;
  }
  return low;
}
