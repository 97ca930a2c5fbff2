import { describe, expect, test } from 'vitest';
import {
  boundsOf,
  coordinatesAt,
  filterPoints,
  nearestDistance,
  pointsOf,
  project,
  worldHeight,
  worldWidth,
} from './plane';
import { site } from './testdata';

describe('the projection', () => {
  test.each([
    ['Oslo', 59.91, 10.75],
    ['Sydney', -33.87, 151.21],
    ['Santiago', -33.45, -70.67],
    ['the equator', 0, 0],
  ])('of %s can be inverted', (_, latitude, longitude) => {
    const [x, y] = project({ latitude, longitude });
    expect(x >= 0 && x <= worldWidth && y >= 0 && y <= worldHeight).toBe(true);
    const back = coordinatesAt(x, y)!;
    expect(back.latitude).toBeCloseTo(latitude, 4);
    expect(back.longitude).toBeCloseTo(longitude, 4);
  });
  test('has no coordinates outside the world', () => {
    expect(coordinatesAt(0, 0)).toBeNull();
    expect(coordinatesAt(-50, worldHeight / 2)).toBeNull();
  });
});

describe('points', () => {
  const points = pointsOf([site(), site({ site_name: 'SYD1', latitude: -33.87, longitude: 151.21, gpu_qty: 7 })]);

  test('are filtered with their figures', () => {
    const found = filterPoints(points, (one) => one.site_name === 'SYD1');
    expect(found.sites).toHaveLength(1);
    expect([...found.gpus]).toEqual([7]);
    expect(found.x[0]).toBe(points.x[1]);
  });
  test('stay the same if all match', () => expect(filterPoints(points, () => true)).toBe(points));
  test('have bounds', () => {
    const box = boundsOf(points)!;
    expect([box.left, box.right]).toEqual([points.x[0], points.x[1]]);
    expect([box.top, box.bottom]).toEqual([points.y[0], points.y[1]]);
  });
  test('without any have no bounds', () => expect(boundsOf(pointsOf([]))).toBeNull());
  test('have a nearest other point', () => {
    const apart = Math.hypot(points.x[0]! - points.x[1]!, points.y[0]! - points.y[1]!);
    expect(nearestDistance(points, points.x[0]!, points.y[0]!)).toBeCloseTo(apart, 9);
    expect(nearestDistance(pointsOf([site()]), points.x[0]!, points.y[0]!)).toBe(Infinity);
  });
});
