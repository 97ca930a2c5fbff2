import { describe, expect, test } from 'vitest';
import { coordinatesAt, project, worldHeight, worldWidth } from './plane';
import {
  centerOf,
  centerOn,
  fitScale,
  flightAt,
  maxZoom,
  parseView,
  scaleFor,
  transformFor,
  viewText,
  visibleBox,
} from './viewport';

const size = { width: 1200, height: 600 };
const fit = fitScale(size);
const oslo = { latitude: 59.91, longitude: 10.75 };

describe('a view in the address', () => {
  test('is read', () => expect(parseView('59.91,10.75,24')).toEqual({ ...oslo, zoom: 24 }));
  test.each(['', '1,2', '91,0,1', '0,181,1', '0,0,0', 'x,y,z'])('%j is none', (text) =>
    expect(parseView(text)).toBeNull(),
  );
  test('survives being written and read', () => {
    const text = viewText(size, transformFor(size, '59.910,10.750,24.00', null));
    expect(text).toBe('59.910,10.750,24.00');
  });
});

describe('the position of the map', () => {
  test('without a view shows the whole world', () => {
    const transform = transformFor(size, '', null);
    expect(transform.k).toBeCloseTo(fit, 9);
    const [x, y] = centerOf(size, transform);
    expect(x).toBeCloseTo(worldWidth / 2, 6);
    expect(y).toBeCloseTo(worldHeight / 2, 6);
  });
  test('with a view has its coordinates at the center', () => {
    const center = coordinatesAt(...centerOf(size, transformFor(size, '59.91,10.75,24', null)))!;
    expect(center.latitude).toBeCloseTo(oslo.latitude, 3);
    expect(center.longitude).toBeCloseTo(oslo.longitude, 3);
  });
  test('of a home box shows all of it', () => {
    const box = { left: 500, top: 100, right: 560, bottom: 130 };
    const view = visibleBox(size, transformFor(size, '', box));
    expect(view.left < 500 && view.right > 560 && view.top < 100 && view.bottom > 130).toBe(true);
  });
  test('of a home box with one point is not too near', () => {
    const box = { left: 500, top: 100, right: 500, bottom: 100 };
    expect(transformFor(size, '', box).k).toBeCloseTo(fit * 40, 6);
  });
  test('stays inside the world', () => {
    const view = visibleBox(size, centerOn(size, 0, 0, fit * 4));
    expect(view.left).toBeCloseTo(0, 6);
    expect(view.top).toBeCloseTo(0, 6);
  });
  test('keeps the scale within its limits', () => {
    expect(centerOn(size, 500, 200, 0).k).toBeCloseTo(fit, 9);
    expect(centerOn(size, 500, 200, 1e9).k).toBeCloseTo(fit * maxZoom, 6);
  });
  test('fills most of the screen with a box', () =>
    expect(scaleFor(size, { left: 0, top: 0, right: 100, bottom: 1 }, maxZoom)).toBeCloseTo(9.84, 6));
});

describe('a flight', () => {
  const from = transformFor(size, '', null);
  const to = centerOn(size, ...project(oslo), fit * 24);

  test('starts and ends at its positions', () => {
    expect(flightAt(size, from, to, 0).k).toBeCloseTo(from.k, 9);
    expect(flightAt(size, from, to, 1)).toBe(to);
  });
  test('comes steadily nearer', () => {
    const [x, y] = centerOf(size, to);
    let last = Infinity;
    for (let time = 0; time <= 1; time += 0.1) {
      const transform = flightAt(size, from, to, time);
      const pixels = Math.hypot(...transform.apply([x, y]).map((at, i) => at - [600, 300][i]!));
      expect(pixels).toBeLessThanOrEqual(last + 1e-6);
      last = pixels;
    }
  });
  test('without a change of scale moves sideways only', () => {
    const near = centerOn(size, 500, 200, fit * 10);
    const beside = centerOn(size, 520, 200, fit * 10);
    const half = flightAt(size, near, beside, 0.5);
    expect(half.k).toBeCloseTo(fit * 10, 9);
    expect(centerOf(size, half)[0]).toBeCloseTo(510, 6);
  });
});
