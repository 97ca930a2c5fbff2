// Sites that would overlap are drawn as one cluster. A grid on the plane of the world groups them, and neighboring cells
// whose centers are close are merged. The grid does not depend on where the map is, so panning changes no cluster.
import { extend, type Box, type Points } from './plane';

export interface Cluster extends Box {
  x: number;
  y: number;
  count: number;
  gpus: number;
  megawatts: number;
  /** The index of its first site in the points. */
  first: number;
}

/** Groups the points of an area into cells of a size, both in units of the plane. */
function group({ x, y, gpus, megawatts }: Points, cell: number, area: Box): Cluster[] {
  // A border of empty cells gives every cell eight neighbors.
  const columns = Math.ceil((area.right - area.left) / cell) + 2;
  const rows = Math.ceil((area.bottom - area.top) / cell) + 2;
  const clusterNumbers = new Int32Array(columns * rows); // of each cell, counted from 1; 0 without a cluster
  const cells: number[] = [];
  const clusters: Cluster[] = [];
  for (let i = 0; i < x.length; i++) {
    const left = x[i]!;
    const top = y[i]!;
    if (left < area.left || left >= area.right || top < area.top || top >= area.bottom) continue;
    const at = (1 + Math.floor((top - area.top) / cell)) * columns + 1 + Math.floor((left - area.left) / cell);
    const number = clusterNumbers[at]!;
    if (number > 0) {
      const found = clusters[number - 1]!;
      add(found, left, top, 1, gpus[i]!, megawatts[i]!);
      extend(found, left, top);
    } else {
      cells.push(at);
      clusterNumbers[at] = clusters.push({
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
  return merge(clusters, cells, clusterNumbers, columns, cell);
}

/** Merges each cluster with the smaller neighbors that it would touch. */
function merge(
  clusters: Cluster[],
  cells: number[],
  clusterNumbers: Int32Array,
  columns: number,
  cell: number,
): Cluster[] {
  const near = (cell * 0.7) ** 2;
  const neighbors = [-columns - 1, -columns, -columns + 1, -1, 1, columns - 1, columns, columns + 1];
  const largest = clusters.map((_, i) => i).sort((a, b) => clusters[b]!.count - clusters[a]!.count);
  const merged: Cluster[] = [];
  for (const i of largest) {
    const at = cells[i]!;
    if (clusterNumbers[at] === 0) continue; // merged with a larger one
    clusterNumbers[at] = 0;
    const cluster = clusters[i]!;
    for (const step of neighbors) {
      const number = clusterNumbers[at + step]!;
      const other = clusters[number - 1];
      if (!other || (other.x - cluster.x) ** 2 + (other.y - cluster.y) ** 2 > near) continue;
      add(cluster, other.x, other.y, other.count, other.gpus, other.megawatts);
      extend(cluster, other.left, other.top);
      extend(cluster, other.right, other.bottom);
      clusterNumbers[at + step] = 0;
    }
    merged.push(cluster);
  }
  return merged;
}

function add(cluster: Cluster, x: number, y: number, count: number, gpus: number, megawatts: number): void {
  const all = cluster.count + count;
  cluster.x += ((x - cluster.x) * count) / all;
  cluster.y += ((y - cluster.y) * count) / all;
  cluster.count = all;
  cluster.gpus += gpus;
  cluster.megawatts += megawatts;
}

const cellPixels = 52;
const maxCached = 6;

/**
 * Returns a function that finds the clusters for a scale of the plane and its visible part; it may return more around
 * it. Similar scales have the same clusters, so that they do not move while zooming.
 */
export function clusterer(points: Points): (scale: number, view: Box) => Cluster[] {
  const cache = new Map<string, Cluster[]>();
  return (scale, view) => {
    const level = Math.round(Math.log2(scale) * 2);
    const cell = cellPixels / 2 ** (level / 2);
    const area = tilesAround(view, cell);
    const key = `${level} ${area.left} ${area.top} ${area.right} ${area.bottom}`;
    let clusters = cache.get(key);
    if (!clusters) {
      if (cache.size >= maxCached) cache.delete(cache.keys().next().value!);
      cache.set(key, (clusters = group(points, cell, area)));
    }
    return clusters;
  };
}

/** The tiles of the plane that a view touches, and a border. Points far away from it need not be grouped. */
function tilesAround(view: Box, cell: number): Box {
  // A tile is a whole number of cells, so that the cells of all areas form one grid.
  const tile = cell * 2 ** Math.ceil(Math.log2(Math.max(view.right - view.left, view.bottom - view.top) / cell));
  const border = 2 * cell;
  return {
    left: Math.floor(view.left / tile) * tile - border,
    top: Math.floor(view.top / tile) * tile - border,
    right: Math.ceil(view.right / tile) * tile + border,
    bottom: Math.ceil(view.bottom / tile) * tile + border,
  };
}
