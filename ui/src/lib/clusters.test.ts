import { describe, expect, test } from 'vitest';
import { clusterer } from './clusters';
import { pointsOf, worldHeight, worldWidth } from './plane';
import { site } from './testdata';

const world = { left: 0, top: 0, right: worldWidth, bottom: worldHeight };

// Sites in a deterministic scatter.
const sites = Array.from({ length: 500 }, (_, i) =>
  site({ site_name: `S${i}`, latitude: ((i * 37) % 120) - 50, longitude: ((i * 73) % 340) - 170, gpu_qty: i }),
);
const points = pointsOf(sites);

describe('clusters', () => {
  test('hold every site once', () => {
    const clusters = clusterer(points)(1, world);
    expect(clusters.reduce((sum, cluster) => sum + cluster.count, 0)).toBe(500);
    expect(clusters.reduce((sum, cluster) => sum + cluster.gpus, 0)).toBe((499 * 500) / 2);
  });
  test('separate when zooming in', () => {
    const find = clusterer(points);
    expect(find(8, world).length).toBeGreaterThan(find(1, world).length);
    expect(find(200, world).every((cluster) => cluster.count === 1)).toBe(true);
  });
  test('are the same at similar scales, and cached', () => {
    const find = clusterer(points);
    expect(find(1.01, world)).toBe(find(1, world));
  });
  test('do not change when panning', () => {
    const find = clusterer(points);
    const inside = (left: number) => {
      const view = { left, top: 100, right: left + 300, bottom: 300 };
      return find(4, view)
        .filter((cluster) => cluster.x > 450 && cluster.x < 550 && cluster.y > 150 && cluster.y < 250)
        .map((cluster) => `${cluster.x.toFixed(3)} ${cluster.y.toFixed(3)} ${cluster.count}`)
        .sort();
    };
    expect(inside(400)).toEqual(inside(300));
  });
  test('have bounds that hold their center', () => {
    for (const cluster of clusterer(points)(1, world)) {
      expect(cluster.x >= cluster.left && cluster.x <= cluster.right).toBe(true);
      expect(cluster.y >= cluster.top && cluster.y <= cluster.bottom).toBe(true);
    }
  });
  test('keep the index of a site', () => {
    const single = clusterer(points)(200, world)[0]!;
    expect(points.gpus[single.first]).toBe(single.gpus);
  });
  test('at the same coordinates stay one at any zoom', () => {
    const same = pointsOf([site(), site({ site_name: 'OSL2' })]);
    const [x, y] = [same.x[0]!, same.y[0]!];
    const view = { left: x - 0.01, top: y - 0.01, right: x + 0.01, bottom: y + 0.01 };
    expect(clusterer(same)(100_000, view)).toMatchObject([{ count: 2 }]);
  });
});
