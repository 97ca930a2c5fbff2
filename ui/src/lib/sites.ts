// Data-center sites: reading them, totals and distances, and how the address bar names a circle.
import { get, type ResponseBody, type Row } from './api';

export type SitesPage = ResponseBody<'/api/neocloud/sites'>;
export type Site = SitesPage['sites'][number];

/** Totals of the sites of a country or with a chip. */
export type Bucket = Row<'/api/neocloud/sites/aggregate'>;

export type Scope = 'neocloud' | 'all';

/** The mean radius of the Earth, as the API uses it. */
export const earthKm = 6371.0088;
/** The largest radius that the API searches. */
export const maxKm = 500;

export interface Coordinates {
  latitude: number;
  longitude: number;
}

export interface Circle extends Coordinates {
  km: number;
}

/** Reads a circle from the address: latitude, longitude and kilometers. Null if it is malformed or too large. */
export function circleOf(text: string): Circle | null {
  const parts = text.split(',').map((part) => (part.trim() === '' ? NaN : Number(part)));
  const [latitude = NaN, longitude = NaN, km = NaN] = parts;
  const fits = parts.length === 3 && Math.abs(latitude) <= 90 && Math.abs(longitude) <= 180 && km > 0 && km <= maxKm;
  return fits ? { latitude, longitude, km } : null;
}

export function circleText(circle: Circle): string {
  return `${round(circle.latitude, 4)},${round(circle.longitude, 4)},${round(circle.km, circle.km < 10 ? 1 : 0)}`;
}

const round = (value: number, digits: number) => Number(value.toFixed(digits));

/** 59.91° N, 10.75° E */
export function coordinatesText({ latitude, longitude }: Coordinates): string {
  return `${Math.abs(latitude).toFixed(2)}° ${latitude < 0 ? 'S' : 'N'}, ${Math.abs(longitude).toFixed(2)}° ${longitude < 0 ? 'W' : 'E'}`;
}

/** Reads all sites of a scope in one request. */
export async function readSites(scope: Scope): Promise<Site[]> {
  const { data } = await get('/api/neocloud/map', { query: { scope } });
  return data.features.map((feature) => feature.properties);
}

export async function readBuckets(by: 'country' | 'gpu_type', scope: Scope): Promise<Bucket[]> {
  return (await get('/api/neocloud/sites/aggregate', { query: { by, scope } })).data;
}

/** The sites that a list shows. */
export interface Region {
  scope: Scope;
  country: string;
  circle: Circle | null;
}

export function readPage(region: Region, limit: number, offset: number): Promise<SitesPage> {
  return get('/api/neocloud/sites', {
    query: {
      scope: region.scope,
      country: region.country,
      lat: region.circle?.latitude,
      lng: region.circle?.longitude,
      radius_km: region.circle?.km,
      limit,
      offset,
    },
  });
}

/** Totals by country in the order of the API: most sites first, then by name. */
export function byCountry(sites: Site[]): Bucket[] {
  const sums = new Map<string, Bucket>();
  for (const site of sites) {
    let sum = sums.get(site.country);
    if (!sum) sums.set(site.country, (sum = { key: site.country, site_count: 0, total_gpu_qty: 0, total_power_mw: 0 }));
    sum.site_count++;
    sum.total_gpu_qty += site.gpu_qty;
    sum.total_power_mw += site.power_capacity_mw;
  }
  return [...sums.values()].sort((a, b) => b.site_count - a.site_count || (a.key < b.key ? -1 : 1));
}

/** The sites within a circle, nearest first, with their distance, as the API lists them. */
export function within(sites: Site[], circle: Circle): Site[] {
  const near: Site[] = [];
  for (const site of sites) {
    const km = distance(circle, site);
    if (km <= circle.km) near.push({ ...site, distance_km: round(km, 3) });
  }
  return near.sort((a, b) => a.distance_km! - b.distance_km!);
}

/** A circle around a center that reaches to a point: at least 1 km, at most what the API searches. */
export const circleTo = (center: Coordinates, edge: Coordinates): Circle => ({
  latitude: center.latitude,
  longitude: center.longitude,
  km: Math.max(1, Math.min(maxKm, distance(center, edge))),
});

/** The great-circle distance in kilometers. */
export function distance(from: Coordinates, to: Coordinates): number {
  const radians = Math.PI / 180;
  const [a, b] = [from.latitude * radians, to.latitude * radians];
  const haversine =
    Math.sin((b - a) / 2) ** 2 +
    Math.cos(a) * Math.cos(b) * Math.sin(((to.longitude - from.longitude) * radians) / 2) ** 2;
  return 2 * earthKm * Math.asin(Math.min(1, Math.sqrt(haversine)));
}

/** Whether two records describe the same site. Records have no identifier. */
export function isSame(a: Site, b: Site): boolean {
  return (
    a.company === b.company && a.site_name === b.site_name && a.latitude === b.latitude && a.longitude === b.longitude
  );
}

/** A site in the address bar. */
export const siteText = ({ company, site_name, latitude, longitude }: Site): string =>
  [company, site_name, round(latitude, 4), round(longitude, 4)].join('|');

/** The figures of all sites together. Sites without a country on file add no country. */
export function totalsOf(sites: Site[]): { sites: number; gpus: number; megawatts: number; countries: number } {
  const countries = new Set(sites.map((site) => site.country));
  countries.delete('Unknown');
  return {
    sites: sites.length,
    gpus: sites.reduce((sum, site) => sum + site.gpu_qty, 0),
    megawatts: sites.reduce((sum, site) => sum + site.power_capacity_mw, 0),
    countries: countries.size,
  };
}
