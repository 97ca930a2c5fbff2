// Makes lines comparable: as their change since their start, divided by or subtracted from each other, or smoothed over
// some days.
import { rounded } from './change';
import type { Line } from './series';

/** The line as its change in percent since its first value. */
export function percentFromStart<L extends Line>(line: L): L {
  const base = line.values.find((value) => value !== null && value !== 0);
  if (base == null) return line;
  return { ...line, values: line.values.map((value) => (value === null ? null : (value / base - 1) * 100)) };
}

/** Two lines as one, in the color of the second, at the instants that both have. A null value of either is one of both. */
function combined(one: Line, other: Line, sign: string, combine: (a: number, b: number) => number | null): Line {
  const values = new Map(other.times.map((at, i) => [at, other.values[i]!]));
  const times = one.times.filter((at) => values.has(at));
  const first = new Map(one.times.map((at, i) => [at, one.values[i]!]));
  return {
    label: `${one.label} ${sign} ${other.label}`,
    color: other.color,
    times,
    values: times.map((at) => {
      const [a, b] = [first.get(at) ?? null, values.get(at) ?? null];
      return a === null || b === null ? null : combine(a, b);
    }),
  };
}

/** How many times the other line a line is. */
export const ratio = (one: Line, other: Line): Line =>
  combined(one, other, '/', (a, b) => (b === 0 ? null : rounded(a / b, 6)));

/** How much more than the other line a line is. */
export const spread = (one: Line, other: Line): Line => combined(one, other, '−', (a, b) => rounded(a - b, 6));

/** The mean over the days up to each value. Over seven days, weekends do not hide the trend. */
export function trailingMean<L extends Line>(line: L, days: number): L {
  let first = 0;
  let sum = 0;
  let known = 0;
  const values = line.values.map((value, i) => {
    if (value !== null) {
      sum += value;
      known++;
    }
    for (; line.times[first]! <= line.times[i]! - days * 86_400; first++) {
      const dropped = line.values[first]!;
      if (dropped !== null) {
        sum -= dropped;
        known--;
      }
    }
    return value === null ? null : rounded(sum / known, 4);
  });
  return { ...line, values };
}
