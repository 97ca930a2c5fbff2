// The world on a plane. Everything is projected once, onto a plane of fixed size; moving the map only moves that plane.
import { geoNaturalEarth1, geoPath } from 'd3-geo';
import type { Coordinates, Site } from './sites';

export const worldWidth = 1000;

// Rotated a little, so that the edge of the map runs through the Bering Strait and not through Siberia.
export const projection = geoNaturalEarth1().rotate([-11, 0]).precision(0.1).fitWidth(worldWidth, { type: 'Sphere' });

export const worldHeight = geoPath(projection).bounds({ type: 'Sphere' })[1][1];

export interface Box {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

/** Extends a box to a point. */
export function extend(box: Box, x: number, y: number): void {
  if (x < box.left) box.left = x;
  if (x > box.right) box.right = x;
  if (y < box.top) box.top = y;
  if (y > box.bottom) box.bottom = y;
}

export const emptyBox = (): Box => ({ left: Infinity, top: Infinity, right: -Infinity, bottom: -Infinity });

/** Projects coordinates onto the plane. */
export const project = ({ latitude, longitude }: Coordinates): [x: number, y: number] =>
  projection([longitude, latitude]) ?? [0, 0];

/** The coordinates at a point of the plane; null outside the world. */
export function coordinatesAt(x: number, y: number): Coordinates | null {
  const found = projection.invert?.([x, y]);
  if (!found || !(Math.abs(found[0]) <= 180 && Math.abs(found[1]) <= 90)) return null;
  const coordinates = { latitude: found[1], longitude: found[0] };
  const [backX, backY] = project(coordinates);
  return Math.hypot(backX - x, backY - y) < 0.01 ? coordinates : null;
}

/** Sites with their positions on the plane and the figures that clusters add up. */
export interface Points {
  sites: Site[];
  x: Float64Array;
  y: Float64Array;
  gpus: Float64Array;
  megawatts: Float64Array;
}

export function pointsOf(sites: Site[]): Points {
  const x = new Float64Array(sites.length);
  const y = new Float64Array(sites.length);
  sites.forEach((site, i) => {
    const [left, top] = project(site);
    x[i] = left;
    y[i] = top;
  });
  return {
    sites,
    x,
    y,
    gpus: Float64Array.from(sites, (site) => site.gpu_qty),
    megawatts: Float64Array.from(sites, (site) => site.power_capacity_mw),
  };
}

/** The points of the sites that match. */
export function filterPoints(points: Points, matches: (site: Site) => boolean): Points {
  const indexes: number[] = [];
  points.sites.forEach((site, i) => matches(site) && indexes.push(i));
  if (indexes.length === points.sites.length) return points;
  const pick = (values: Float64Array) => Float64Array.from(indexes, (i) => values[i]!);
  return {
    sites: indexes.map((i) => points.sites[i]!),
    x: pick(points.x),
    y: pick(points.y),
    gpus: pick(points.gpus),
    megawatts: pick(points.megawatts),
  };
}

/** The bounds of points; null without any. */
export function boundsOf({ x, y }: Points): Box | null {
  if (x.length === 0) return null;
  const box = emptyBox();
  for (let i = 0; i < x.length; i++) extend(box, x[i]!, y[i]!);
  return box;
}

/** How far the nearest other point is from a position on the plane. Points at the position itself do not count. */
export function nearestDistance({ x, y }: Points, atX: number, atY: number): number {
  let nearest = Infinity;
  for (let i = 0; i < x.length; i++) {
    const distance = Math.hypot(x[i]! - atX, y[i]! - atY);
    if (distance > 1e-9 && distance < nearest) nearest = distance;
  }
  return nearest;
}
