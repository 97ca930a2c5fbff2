import { describe as group, expect, test } from 'vitest';
import { sampled } from './sample';

const line = (values: (number | null)[]) => ({ times: values.map((_, i) => i), values });

group('fewer points of a line', () => {
  test('a short line keeps all that it knows', () =>
    expect(sampled(line([1, null, 3]), 10)).toEqual([
      { at: 0, value: 1 },
      { at: 2, value: 3 },
    ]));
  test('a peak of one point stays', () => {
    const values = Array.from({ length: 26_280 }, (_, i) => (i === 13_001 ? 9 : i % 3));
    const points = sampled(line(values), 300);
    expect(points.length).toBeLessThanOrEqual(600);
    expect(points).toContainEqual({ at: 13_001, value: 9 });
  });
  test('points stay in order', () => {
    const at = sampled(line(Array.from({ length: 1000 }, (_, i) => Math.sin(i))), 50).map((point) => point.at);
    expect(at).toEqual([...at].sort((a, b) => a - b));
  });
});
