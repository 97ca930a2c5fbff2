// The world on a plane: everything is projected once, onto a plane of fixed size, and moving the map only moves that plane.
import {
  geoCircle,
  geoGraticule,
  geoNaturalEarth1,
  geoPath,
  type GeoContext,
  type GeoPermissibleObjects,
} from 'd3-geo';
import { feature } from 'topojson-client';
import type { GeometryCollection, Topology } from 'topojson-specification';
import coarseURL from 'world-atlas/countries-110m.json?url';
import fineURL from 'world-atlas/countries-50m.json?url';
import { earthKm, type Circle, type Site } from './sites';

export const worldWidth = 1000;

// Turned a little, so that the cut runs through the Bering Strait and not through Siberia.
const projection = geoNaturalEarth1().rotate([-11, 0]).precision(0.1).fitWidth(worldWidth, { type: 'Sphere' });

export const worldHeight = geoPath(projection).bounds({ type: 'Sphere' })[1][1];

export interface Box {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

/** A shape on the plane, with its bounds. */
export interface Outline extends Box {
  path: Path2D;
}

/** Projects a place onto the plane. */
export const project = (longitude: number, latitude: number): [number, number] =>
  projection([longitude, latitude]) ?? [0, 0];

/** The place at a point of the plane; null beside the world. */
export function placeAt(x: number, y: number): { latitude: number; longitude: number } | null {
  const found = projection.invert?.([x, y]);
  if (!found || !(Math.abs(found[0]) <= 180 && Math.abs(found[1]) <= 90)) return null;
  const [backX, backY] = project(found[0], found[1]);
  return Math.hypot(backX - x, backY - y) < 0.01 ? { latitude: found[1], longitude: found[0] } : null;
}

function outline(shape: GeoPermissibleObjects): Outline {
  const path = new Path2D();
  const made: Outline = { path, left: Infinity, top: Infinity, right: -Infinity, bottom: -Infinity };
  const grow = (x: number, y: number) => {
    if (x < made.left) made.left = x;
    if (x > made.right) made.right = x;
    if (y < made.top) made.top = y;
    if (y > made.bottom) made.bottom = y;
  };
  const pen: GeoContext = {
    beginPath: () => undefined,
    moveTo: (x, y) => (grow(x, y), path.moveTo(x, y)),
    lineTo: (x, y) => (grow(x, y), path.lineTo(x, y)),
    arc: (x, y, r, from, to) => path.arc(x, y, r, from, to),
    closePath: () => path.closePath(),
  };
  geoPath(projection, pen)(shape);
  return made;
}

export const sphere = outline({ type: 'Sphere' });
export const graticule = outline(geoGraticule().step([30, 30])());

/** A circle on the globe, which is none on the plane. */
export function circleOutline(circle: Circle): Outline {
  const radius = (circle.km / earthKm) * (180 / Math.PI);
  return outline(geoCircle().center([circle.longitude, circle.latitude]).radius(radius).precision(3)());
}

const lands = new Map<string, Promise<Outline[]>>();

/** Loads the land, once. */
export function readLand(detail: 'coarse' | 'fine'): Promise<Outline[]> {
  let land = lands.get(detail);
  if (!land) {
    lands.set(detail, (land = askLand(detail)));
    land.catch(() => lands.delete(detail));
  }
  return land;
}

/** The land comes in polygons, so that those out of sight need not be drawn. */
async function askLand(detail: 'coarse' | 'fine'): Promise<Outline[]> {
  const response = await fetch(detail === 'fine' ? fineURL : coarseURL);
  if (!response.ok) throw new Error(`The server answered ${response.status}.`);
  const topology = (await response.json()) as Topology<{ countries: GeometryCollection }>;
  const polygons = feature(topology, topology.objects.countries).features.flatMap(({ geometry }) =>
    geometry.type === 'MultiPolygon' ? geometry.coordinates : geometry.type === 'Polygon' ? [geometry.coordinates] : [],
  );
  return polygons.map((coordinates) => outline({ type: 'Polygon', coordinates }));
}

/** Sites, where they are on the plane, and what they are summed up by. */
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
    [x[i], y[i]] = project(site.longitude, site.latitude) as [number, number];
  });
  return {
    sites,
    x,
    y,
    gpus: Float64Array.from(sites, (site) => site.gpu_qty),
    megawatts: Float64Array.from(sites, (site) => site.power_capacity_mw),
  };
}

/** The points that are asked for. */
export function pick(points: Points, wanted: (site: Site) => boolean): Points {
  const kept: number[] = [];
  points.sites.forEach((site, i) => wanted(site) && kept.push(i));
  if (kept.length === points.sites.length) return points;
  const of = (values: Float64Array) => Float64Array.from(kept, (i) => values[i]!);
  return {
    sites: kept.map((i) => points.sites[i]!),
    x: of(points.x),
    y: of(points.y),
    gpus: of(points.gpus),
    megawatts: of(points.megawatts),
  };
}

/** The bounds of points; null of none. */
export function boundsOf({ x, y }: Points): Box | null {
  if (x.length === 0) return null;
  const box = { left: Infinity, top: Infinity, right: -Infinity, bottom: -Infinity };
  for (let i = 0; i < x.length; i++) {
    box.left = Math.min(box.left, x[i]!);
    box.right = Math.max(box.right, x[i]!);
    box.top = Math.min(box.top, y[i]!);
    box.bottom = Math.max(box.bottom, y[i]!);
  }
  return box;
}
