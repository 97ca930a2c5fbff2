// GPU prices. One request per GPU model reads everything the reader may see of it, and ranges are cut from that, so that
// looking around costs few requests.
import { get, type ResponseBody, type Row } from './api';
import type { Color, Line } from './series';

export type History = ResponseBody<'/api/gpu/{gpuName}/index-history'>;
export type Point = History['data'][number];

/** A GPU model of the catalog, with its current price and its last daily values. */
export type Overview = Row<'/api/gpu-overview'>;

export const gpuTypes = () => get('/api/gpu-types');
export const freeGPUs = () => get('/api/gpu-types-free');
export const currentPrices = (region = '') => get('/api/gpu-prices', { query: { region } });
export const regions = () => get('/api/regions');
export const overview = () => get('/api/gpu-overview');

/** The history of a GPU model that the reader's tier includes. `all` requests everything, which needs a key. */
export function history(
  gpu: string,
  options: { region?: string; hourly?: boolean; all?: boolean } = {},
): Promise<History> {
  return get('/api/gpu/{gpuName}/index-history', {
    path: { gpuName: gpu },
    query: {
      startDate: options.all ? '2000-01-01' : undefined,
      granularity: options.hourly ? 'hourly' : undefined,
      region: options.region,
    },
  });
}

/** The lowest and the highest hourly value of each day of a GPU model. Needs a key. */
export async function lowHigh(gpu: string, region: string) {
  const { data } = await get('/api/gpu/{gpuName}/history-range', {
    path: { gpuName: gpu },
    query: { startDate: '2000-01-01', granularity: 'daily', region, limit: 10_000 },
  });
  return {
    times: data.map((row) => Date.parse(row.exact_timestamp) / 1000),
    low: data.map((row) => row.daily_stats.min_index),
    high: data.map((row) => row.daily_stats.max_index),
  };
}

export function lineOf(history: History, color: Color): Line {
  return {
    label: history.gpu_type,
    color,
    times: history.data.map((point) => Date.parse(point.timestamp) / 1000),
    values: history.data.map((point) => point.index_value),
  };
}

/** A history with one more value, or with another value at an instant that it has. */
export function withPoint(history: History, point: Point): History {
  const data = addPoint(history.data, point);
  return { ...history, count: data.length, data };
}

/** Points, oldest first, with one more, or with another value at an instant that they have. */
export function addPoint(points: Point[], { timestamp, index_value }: Point): Point[] {
  const at = Date.parse(timestamp);
  const next = points.findLastIndex((point) => Date.parse(point.timestamp) < at) + 1;
  const replaced = points[next] && Date.parse(points[next].timestamp) === at ? 1 : 0;
  return points.toSpliced(next, replaced, { timestamp, index_value });
}
