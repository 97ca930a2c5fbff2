// The dots on the map: where each site or cluster is on the screen, and which one is pointed at.
import type { Cluster } from './clusters';
import type { Size } from './viewport';

/** The position of the plane of the world on the screen: pixels per unit, and its corner. */
export interface Transform {
  k: number;
  x: number;
  y: number;
}

/** A dot on the screen and the cluster that it stands for. */
export interface Mark {
  x: number;
  y: number;
  radius: number;
  cluster: Cluster;
}

/** A mark is drawn as long as a part of it could be visible. */
const margin = 30;

/** The marks on the screen, the largest first, so that the smallest are drawn on top. */
export function marksOf(clusters: Cluster[], transform: Transform, { width, height }: Size): Mark[] {
  const marks: Mark[] = [];
  for (const cluster of clusters) {
    const x = cluster.x * transform.k + transform.x;
    const y = cluster.y * transform.k + transform.y;
    if (x < -margin || y < -margin || x > width + margin || y > height + margin) continue;
    const radius = cluster.count === 1 ? siteRadius(cluster.gpus) : 12 + 3 * Math.log10(cluster.count);
    marks.push({ x, y, radius, cluster });
  }
  return marks.sort((a, b) => b.radius - a.radius);
}

/** The radius of a site's dot. Its area grows with the number of GPUs. */
export const siteRadius = (gpus: number): number => Math.min(12, 3.2 + Math.sqrt(gpus) / 24);

/** The mark nearest to a point of the screen, if its edge is within reach; the topmost of several. */
export function markAt(marks: Mark[], x: number, y: number, reach: number): Mark | null {
  let best: Mark | null = null;
  let nearest = reach;
  for (const mark of marks) {
    const distance = Math.hypot(mark.x - x, mark.y - y) - mark.radius;
    if (distance <= nearest) {
      best = mark;
      nearest = Math.max(distance, 0);
    }
  }
  return best;
}
