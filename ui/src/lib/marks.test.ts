import { describe, expect, test } from 'vitest';
import type { Cluster } from './clusters';
import { markAt, marksOf, siteRadius } from './marks';

const cluster = (x: number, y: number, count: number, gpus = 100): Cluster => ({
  ...{ x, y, count, gpus, megawatts: 1, first: 0 },
  ...{ left: x, right: x, top: y, bottom: y },
});
const transform = { k: 2, x: 10, y: 20 };
const size = { width: 400, height: 300 };

describe('marks', () => {
  test('are placed by the transform', () =>
    expect(marksOf([cluster(50, 60, 1)], transform, size)[0]).toMatchObject({ x: 110, y: 140 }));
  test('far outside the screen are left out, near its edge not', () =>
    expect(marksOf([cluster(-10, 50, 1), cluster(-30, 50, 1), cluster(500, 50, 1)], transform, size)).toHaveLength(1));
  test('have the largest first, so that small ones are drawn on top', () =>
    expect(
      marksOf([cluster(1, 1, 1), cluster(2, 2, 500), cluster(3, 3, 5)], transform, size).map(
        (mark) => mark.cluster.count,
      ),
    ).toEqual([500, 5, 1]));
});

test('the area of a dot grows with the number of GPUs, up to a limit', () => {
  expect(siteRadius(10_000)).toBeGreaterThan(siteRadius(1000));
  expect(siteRadius(10_000_000)).toBe(12);
});

describe('the mark at a point', () => {
  const marks = [
    { x: 100, y: 100, radius: 20, cluster: cluster(0, 0, 9) },
    { x: 110, y: 100, radius: 5, cluster: cluster(0, 0, 1) },
  ];
  test('is the topmost that covers it', () => expect(markAt(marks, 110, 100, 4)).toBe(marks[1]));
  test('can be a little outside its edge', () => {
    expect(markAt(marks, 100, 123, 4)).toBe(marks[0]);
    expect(markAt(marks, 100, 125, 4)).toBeNull();
  });
});
