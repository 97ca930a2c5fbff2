// Sites that would lie over each other are drawn as one. They are gathered in a grid on the plane of the world, and cells
// whose middles come close to each other are joined; moving the map sideways changes nothing in that.
import type { Box, Points } from './world';

export interface Cluster extends Box {
  x: number;
  y: number;
  count: number;
  gpus: number;
  megawatts: number;
  /** The place of its first site among the points. */
  first: number;
}

/** Gathers the points of an area in cells of a size, both in units of the plane. */
function gather({ x, y, gpus, megawatts }: Points, cell: number, area: Box): Cluster[] {
  const columns = Math.ceil((area.right - area.left) / cell) + 2; // a rim of empty cells spares asking for the edge
  const rows = Math.ceil((area.bottom - area.top) / cell) + 2;
  const places = new Int32Array(columns * rows); // of a cell's cluster in the list, counted from 1
  const cells: number[] = [];
  const clusters: Cluster[] = [];
  for (let i = 0; i < x.length; i++) {
    const left = x[i]!;
    const top = y[i]!;
    if (left < area.left || left >= area.right || top < area.top || top >= area.bottom) continue;
    const at = (1 + Math.floor((top - area.top) / cell)) * columns + 1 + Math.floor((left - area.left) / cell);
    const place = places[at]!;
    if (place > 0) {
      const found = clusters[place - 1]!;
      add(found, left, top, 1, gpus[i]!, megawatts[i]!);
      widen(found, left, top, left, top);
    } else {
      cells.push(at);
      places[at] = clusters.push({
        x: left,
        y: top,
        count: 1,
        gpus: gpus[i]!,
        megawatts: megawatts[i]!,
        first: i,
        left,
        right: left,
        top,
        bottom: top,
      });
    }
  }
  return join(clusters, cells, places, columns, cell);
}

/** Joins clusters with smaller ones beside them that they would touch. */
function join(clusters: Cluster[], cells: number[], places: Int32Array, columns: number, cell: number): Cluster[] {
  const near = (cell * 0.7) ** 2;
  const beside = [-columns - 1, -columns, -columns + 1, -1, 1, columns - 1, columns, columns + 1];
  const largest = clusters.map((_, i) => i).sort((a, b) => clusters[b]!.count - clusters[a]!.count);
  const joined: Cluster[] = [];
  for (const i of largest) {
    const at = cells[i]!;
    if (places[at] === 0) continue; // joined with a larger one
    places[at] = 0;
    const cluster = clusters[i]!;
    for (const step of beside) {
      const place = places[at + step]!;
      const other = clusters[place - 1];
      if (!other || (other.x - cluster.x) ** 2 + (other.y - cluster.y) ** 2 > near) continue;
      add(cluster, other.x, other.y, other.count, other.gpus, other.megawatts);
      widen(cluster, other.left, other.top, other.right, other.bottom);
      places[at + step] = 0;
    }
    joined.push(cluster);
  }
  return joined;
}

function add(cluster: Cluster, x: number, y: number, count: number, gpus: number, megawatts: number): void {
  const all = cluster.count + count;
  cluster.x += ((x - cluster.x) * count) / all;
  cluster.y += ((y - cluster.y) * count) / all;
  cluster.count = all;
  cluster.gpus += gpus;
  cluster.megawatts += megawatts;
}

function widen(cluster: Cluster, left: number, top: number, right: number, bottom: number): void {
  if (left < cluster.left) cluster.left = left;
  if (right > cluster.right) cluster.right = right;
  if (top < cluster.top) cluster.top = top;
  if (bottom > cluster.bottom) cluster.bottom = bottom;
}

const cellPixels = 52;
const mostKept = 6;

/**
 * Gives the clusters for a scale of the plane and the part of it that is seen; there may be more around. Scales that are
 * close have the same, so that they stand still while zooming.
 */
export function clusterer(points: Points): (scale: number, view: Box) => Cluster[] {
  const made = new Map<string, Cluster[]>();
  return (scale, view) => {
    const level = Math.round(Math.log2(scale) * 2);
    const cell = cellPixels / 2 ** (level / 2);
    const area = around(view, cell);
    const key = `${level} ${area.left} ${area.top} ${area.right} ${area.bottom}`;
    let clusters = made.get(key);
    if (!clusters) {
      if (made.size >= mostKept) made.delete(made.keys().next().value!);
      made.set(key, (clusters = gather(points, cell, area)));
    }
    return clusters;
  };
}

/** The tiles of the plane that a view touches, and a rim: what is far from it need not be gathered. */
function around(view: Box, cell: number): Box {
  // In whole cells, so that the cells of all areas lie in one grid.
  const tile = cell * 2 ** Math.ceil(Math.log2(Math.max(view.right - view.left, view.bottom - view.top) / cell));
  const rim = 2 * cell;
  return {
    left: Math.floor(view.left / tile) * tile - rim,
    top: Math.floor(view.top / tile) * tile - rim,
    right: Math.ceil(view.right / tile) * tile + rim,
    bottom: Math.ceil(view.bottom / tile) * tile + rim,
  };
}
