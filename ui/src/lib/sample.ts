// Fewer points of a line that look the same: the lowest and the highest value of each part stay.
import type { Line } from './series';

/** At most two points for each of the parts that the line is cut into, in order. */
export function sampled(
  { times, values }: Pick<Line, 'times' | 'values'>,
  parts: number,
): { at: number; value: number }[] {
  const known = times.flatMap((at, i) => (values[i] == null ? [] : [{ at, value: values[i] }]));
  const size = known.length / parts;
  if (size <= 2) return known;
  return Array.from({ length: parts }, (_, part) => {
    const points = known.slice(Math.round(part * size), Math.round((part + 1) * size));
    const low = points.reduce((least, one) => (one.value < least.value ? one : least));
    const high = points.reduce((most, one) => (one.value > most.value ? one : most));
    if (low === high) return [low];
    return low.at < high.at ? [low, high] : [high, low];
  }).flat();
}
