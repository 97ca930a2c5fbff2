// Makes lines comparable: rebased to 100 at their start, or smoothed over some days.
import { rounded } from './change';
import type { Line } from './series';

/** The line as an index that is 100 at its first value. */
export function rebase<L extends Line>(line: L): L {
  const base = line.values.find((value) => value !== null && value !== 0);
  if (base == null) return line;
  return { ...line, values: line.values.map((value) => (value === null ? null : (value / base) * 100)) };
}

/** The line as its change in percent since its first value. */
export function percentFromStart<L extends Line>(line: L): L {
  const rebased = rebase(line);
  return rebased === line
    ? line
    : { ...line, values: rebased.values.map((value) => (value === null ? null : value - 100)) };
}

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
