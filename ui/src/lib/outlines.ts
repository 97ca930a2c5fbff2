// Shapes on the plane of the world, ready to be drawn: land, grid lines and circles.
import { geoCircle, geoGraticule, geoPath, type GeoContext, type GeoPermissibleObjects } from 'd3-geo';
import { feature } from 'topojson-client';
import type { GeometryCollection, Topology } from 'topojson-specification';
import coarseURL from 'world-atlas/countries-110m.json?url';
import fineURL from 'world-atlas/countries-50m.json?url';
import { emptyBox, extend, projection, type Box } from './plane';
import { earthKm, type Circle } from './sites';

/** A shape with its bounds. */
export interface Outline extends Box {
  path: Path2D;
}

function outline(shape: GeoPermissibleObjects): Outline {
  const path = new Path2D();
  const box = emptyBox();
  const context: GeoContext = {
    beginPath: () => undefined,
    moveTo: (x, y) => {
      extend(box, x, y);
      path.moveTo(x, y);
    },
    lineTo: (x, y) => {
      extend(box, x, y);
      path.lineTo(x, y);
    },
    arc: (x, y, r, from, to) => path.arc(x, y, r, from, to),
    closePath: () => path.closePath(),
  };
  geoPath(projection, context)(shape);
  return { ...box, path };
}

export const sphere = outline({ type: 'Sphere' });
export const graticule = outline(geoGraticule().step([30, 30])());

/** A circle on the globe. Its projection is not a circle. */
export function circleOutline(circle: Circle): Outline {
  const radius = (circle.km / earthKm) * (180 / Math.PI);
  return outline(geoCircle().center([circle.longitude, circle.latitude]).radius(radius).precision(3)());
}

export type Detail = 'coarse' | 'fine';

const lands = new Map<Detail, Promise<Outline[]>>();

/** Loads the land once per level of detail. A failed load can be retried. */
export function readLand(detail: Detail): Promise<Outline[]> {
  let land = lands.get(detail);
  if (!land) {
    lands.set(detail, (land = fetchLand(detail)));
    land.catch(() => lands.delete(detail));
  }
  return land;
}

/** Reads the land as polygons, so that those out of sight need not be drawn. */
async function fetchLand(detail: Detail): Promise<Outline[]> {
  const response = await fetch(detail === 'fine' ? fineURL : coarseURL);
  if (!response.ok) throw new Error(`The server responded with status ${response.status}.`);
  const topology: Topology<{ countries: GeometryCollection }> = await response.json();
  const polygons = feature(topology, topology.objects.countries).features.flatMap(({ geometry }) =>
    geometry.type === 'MultiPolygon' ? geometry.coordinates : geometry.type === 'Polygon' ? [geometry.coordinates] : [],
  );
  return polygons.map((coordinates) => outline({ type: 'Polygon', coordinates }));
}
