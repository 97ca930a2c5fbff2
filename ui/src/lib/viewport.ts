// The position of the map: where the plane of the world is on the screen, and the movement between two positions.
import { zoom, zoomIdentity, type ZoomTransform } from 'd3-zoom';
import { coordinatesAt, project, worldHeight, worldWidth, type Box } from './plane';
import type { Coordinates } from './sites';

export interface Size {
  width: number;
  height: number;
}

/** How far the map zooms in: enough to distinguish sites that are a few hundred meters apart. */
export const maxZoom = 600;

/** How far the map zooms in to show a country or a circle. */
const maxHomeZoom = 40;

export const worldExtent: [[number, number], [number, number]] = [
  [0, 0],
  [worldWidth, worldHeight],
];

export const screenExtent = ({ width, height }: Size): [[number, number], [number, number]] => [
  [0, 0],
  [width, height],
];

const constrain = zoom().constrain();

/** The scale at which the whole world fits on the screen. Zoom 1 means this scale. */
export const fitScale = ({ width, height }: Size): number => Math.min(width / worldWidth, height / worldHeight);

/** The scale at which the world covers the whole screen. */
export const coverScale = ({ width, height }: Size): number => Math.max(width / worldWidth, height / worldHeight);

/** The scale at which a part of the plane fills most of the screen, up to a zoom. */
export function scaleFor(size: Size, box: Box, upTo: number): number {
  const scale = Math.min((size.width * 0.82) / (box.right - box.left), (size.height * 0.78) / (box.bottom - box.top));
  return Math.min(scale, fitScale(size) * upTo);
}

/** The transform that brings a point of the plane to the center of the screen, as far as the world's edges allow. */
export function centerOn(size: Size, x: number, y: number, scale: number): ZoomTransform {
  const fit = fitScale(size);
  const k = Math.max(fit, Math.min(fit * maxZoom, scale));
  const centered = zoomIdentity
    .translate(size.width / 2, size.height / 2)
    .scale(k)
    .translate(-x, -y);
  return constrain(centered, screenExtent(size), worldExtent);
}

/** The point of the plane at the center of the screen. */
export const centerOf = (size: Size, transform: ZoomTransform): [x: number, y: number] =>
  transform.invert([size.width / 2, size.height / 2]);

/** The part of the plane that is visible. */
export function visibleBox({ width, height }: Size, { k, x, y }: { k: number; x: number; y: number }): Box {
  return { left: -x / k, top: -y / k, right: (width - x) / k, bottom: (height - y) / k };
}

/** A position of the map as the address bar holds it: the coordinates at the center, and the zoom. */
export interface View extends Coordinates {
  zoom: number;
}

/** Reads a view from the address; null if it is empty or out of range. */
export function parseView(text: string): View | null {
  const [latitude = NaN, longitude = NaN, zoom = NaN] = text.split(',').map(Number);
  const valid = text !== '' && Math.abs(latitude) <= 90 && Math.abs(longitude) <= 180 && zoom > 0;
  return valid ? { latitude, longitude, zoom } : null;
}

/** Writes the view of a transform for the address; empty if the center is outside the world. */
export function viewText(size: Size, transform: ZoomTransform): string {
  const center = coordinatesAt(...centerOf(size, transform));
  if (!center) return '';
  const zoom = transform.k / fitScale(size);
  return `${center.latitude.toFixed(3)},${center.longitude.toFixed(3)},${zoom.toFixed(2)}`;
}

/** The transform of a view; without one, of the home box or the whole world. */
export function transformFor(size: Size, view: string, home: Box | null, cover = false): ZoomTransform {
  const wanted = parseView(view);
  if (wanted) return centerOn(size, ...project(wanted), wanted.zoom * fitScale(size));
  if (home) return centerOn(size, ...middleOf(home), scaleFor(size, home, maxHomeZoom));
  return centerOn(size, worldWidth / 2, worldHeight / 2, cover ? coverScale(size) : fitScale(size));
}

export const middleOf = (box: Box): [x: number, y: number] => [(box.left + box.right) / 2, (box.top + box.bottom) / 2];

/** The transform on the way from one to another, at a time from 0 to 1. The target comes steadily nearer. */
export function flightAt(size: Size, from: ZoomTransform, to: ZoomTransform, time: number): ZoomTransform {
  if (time >= 1) return to;
  const eased = time < 0.5 ? 4 * time ** 3 : 1 - (2 - 2 * time) ** 3 / 2;
  const k = from.k * (to.k / from.k) ** eased;
  const [fromX, fromY] = centerOf(size, from);
  const [toX, toY] = centerOf(size, to);
  const share = Math.abs(to.k - from.k) < 1e-9 ? eased : (1 / k - 1 / from.k) / (1 / to.k - 1 / from.k);
  return centerOn(size, fromX + (toX - fromX) * share, fromY + (toY - fromY) * share, k);
}
