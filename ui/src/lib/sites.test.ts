import { describe, expect, test } from 'vitest';
import { byCountry, circleOf, circleText, circleTo, coordinatesText, distance, totalsOf, within } from './sites';
import { site } from './testdata';

const oslo = { latitude: 59.91, longitude: 10.75 };
const bergen = { latitude: 60.39, longitude: 5.32 };

describe('distance', () => {
  test('Oslo to Bergen is about 305 km', () => expect(distance(oslo, bergen)).toBeCloseTo(305, -1));
  test('is zero at the same coordinates', () => expect(distance(oslo, oslo)).toBe(0));
  test('crosses the date line the short way', () =>
    expect(distance({ latitude: 0, longitude: 179.5 }, { latitude: 0, longitude: -179.5 })).toBeLessThan(112));
});

describe('a circle in the address', () => {
  test('is read', () => expect(circleOf('59.91,10.75,100')).toEqual({ ...oslo, km: 100 }));
  test.each(['', '59.91,10.75', '59.91,10.75,', '91,0,10', '0,181,10', '0,0,0', '0,0,501', 'a,b,c', '1,2,3,4'])(
    '%j is none',
    (text) => expect(circleOf(text)).toBeNull(),
  );
  test('is written with the digits that matter', () => {
    expect(circleText({ latitude: 59.912345, longitude: 10.7, km: 123.4 })).toBe('59.9123,10.7,123');
    expect(circleText({ latitude: 0, longitude: 0, km: 1.26 })).toBe('0,0,1.3');
  });
  test('survives being written and read', () => {
    const circle = { latitude: -33.8688, longitude: 151.2093, km: 50 };
    expect(circleOf(circleText(circle))).toEqual(circle);
  });
});

describe('a drawn circle', () => {
  test('reaches to the edge', () => expect(circleTo(oslo, bergen).km).toBeCloseTo(distance(oslo, bergen), 9));
  test('is at least 1 km', () => expect(circleTo(oslo, oslo).km).toBe(1));
  test('is at most 500 km', () => expect(circleTo(oslo, { latitude: 0, longitude: 0 }).km).toBe(500));
});

test('coordinates have a hemisphere', () => {
  expect(coordinatesText(oslo)).toBe('59.91° N, 10.75° E');
  expect(coordinatesText({ latitude: -33.87, longitude: -70.66 })).toBe('33.87° S, 70.66° W');
});

describe('totals', () => {
  const sites = [
    site(),
    site({ site_name: 'OSL2', gpu_qty: 500, power_capacity_mw: 5 }),
    site({ site_name: 'BER1', country: 'Germany', gpu_qty: 100, power_capacity_mw: 1 }),
    site({ site_name: 'X', country: 'Unknown', gpu_qty: 1, power_capacity_mw: 0.5 }),
  ];
  test('of all sites do not count an unknown country', () =>
    expect(totalsOf(sites)).toEqual({ sites: 4, gpus: 1601, megawatts: 16.5, countries: 2 }));
  test('by country have most sites first, then the name', () =>
    expect(byCountry(sites).map((bucket) => [bucket.key, bucket.site_count, bucket.total_gpu_qty])).toEqual([
      ['Norway', 2, 1500],
      ['Germany', 1, 100],
      ['Unknown', 1, 1],
    ]));
});

test('sites within a circle come nearest first, with their distance', () => {
  const near = site({ site_name: 'near', latitude: 60 });
  const far = site({ site_name: 'far', latitude: 65 });
  const found = within([far, near, site()], { ...oslo, km: 50 });
  expect(found.map((one) => one.site_name)).toEqual(['OSL1', 'near']);
  expect(found[1]!.distance_km).toBeCloseTo(10.008, 2);
});
