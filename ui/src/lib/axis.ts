// The axes of a chart: their ranges, ticks and labels.
import uPlot from 'uplot';

const minute = 60;
const hour = 60 * minute;
const day = 24 * hour;

// Each row of uPlot's format: the smallest distance between ticks that it applies to, the label of a tick, the second
// line at the first tick of a new year, month, day, hour, minute or second, and 1 to append that line to the label.
const date = '{MMM} {D}';
const time = '{HH}:{mm}';
const dateBelow = `\n${date}`;
const fullDateBelow = `\n${date}, {YYYY}`;

/** Dates as `Aug 22`; in a range of days, times as `16:00`. The year appears below its first tick. */
export const dateTicks: (string | number | null)[][] = [
  [365 * day, '{YYYY}', null, null, null, null, null, null, 1],
  [28 * day, '{MMM}', '\n{YYYY}', null, null, null, null, null, 1],
  [day, date, '\n{YYYY}', null, null, null, null, null, 1],
  [minute, time, fullDateBelow, null, dateBelow, null, null, null, 1],
  [0.001, '{HH}:{mm}:{ss}', fullDateBelow, null, dateBelow, null, null, null, 1],
];

const month = 30 * day;
const year = 365 * day;

/** The distances between ticks of a chart of daily values: those of uPlot that are at least a day. */
export const dayIncrements: number[] = [
  ...[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 15].map((n) => n * day),
  ...[1, 2, 3, 4, 6].map((n) => n * month),
  ...[1, 2, 5, 10, 25, 50, 100].map((n) => n * year),
];

/** The range of the time axis. A single point is in the middle of the time that it stands for. */
export function timeRange(
  times: ArrayLike<number>,
  min: number | null,
  max: number | null,
  step: number,
): [number, number] {
  const only = times[0];
  if (only === undefined || min === null || max === null) return [0, step];
  // uPlot would show the thousand days after it.
  return times.length === 1 ? [only - step, only + step] : [min, max];
}

/** Formats the ticks of a value axis, all with the number of decimals that the finest needs. */
export function valueTicks(values: (number | null)[], format: (value: number) => string): string[] {
  const texts = values.map((value) => (value === null ? '' : format(value)));
  const decimals = texts.map((text) => /\.(\d+)/.exec(text)?.[1] ?? '');
  const needed = Math.max(0, ...decimals.map((digits) => digits.replace(/0+$/, '').length));
  return texts.map((text, i) => {
    const digits = decimals[i]!;
    if (digits.length <= needed) return text;
    return text.replace(`.${digits}`, needed === 0 ? '' : `.${digits.slice(0, needed)}`);
  });
}

/** The range of the value axis. A flat line is centered. */
export function valueRange(min: number | null, max: number | null, log: boolean): [number, number] {
  if (min === null || max === null) return [0, 1];
  if (min === max) {
    const padding = Math.abs(min) * 0.05 || 1;
    return [min - padding, max + padding];
  }
  if (!log || min <= 0) return uPlot.rangeNum(min, max, 0.1, true) as [number, number];
  const padding = (max / min) ** 0.08;
  return [min / padding, max * padding];
}

/** The ticks of a logarithmic axis: 1, 2 and 5 times each power of ten; round steps where those are too few. */
export function logTicks(min: number, max: number): number[] {
  const coarse: number[] = [];
  for (let power = 10 ** Math.floor(Math.log10(min)); power <= max; power *= 10) {
    coarse.push(...[1, 2, 5].map((n) => n * power).filter((v) => v >= min && v <= max));
  }
  if (coarse.length >= 4) return coarse;
  const rough = (max - min) / 6;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5, 10].find((n) => n * power >= rough) ?? 10);
  const fine: number[] = [];
  for (let n = Math.ceil(min / step); n * step <= max; n++) fine.push(Number((n * step).toPrecision(12)));
  return fine;
}
