// What is known of a GPU beside its price: how much the price moves, how much is rented, where the running hour stands.
import { get, type Params } from './api';
import type { Colour, Line } from './series';
import type { List } from './types';

export interface Reading {
  gpu_type: string;
  utilization_ratio: number | null;
  avg_7d: number | null;
  avg_30d: number | null;
  recorded_at: string;
}

export interface Print {
  timestamp: string;
  index_value: number;
  transactions: number;
  gpu_hours: number;
}

export interface Realtime extends List<Print> {
  latest: Print & { window_seconds: number };
}

interface Row {
  exact_timestamp: string;
  rolling_volatility?: number | null;
  utilization_ratio?: number;
}

const path = (gpu: string, what: string) => `/api/gpu/${encodeURIComponent(gpu)}/${what}`;

// An answer has 10,000 rows at most, the newest; the years before them are asked for one answer at a time.
async function allRows(address: string, params: Params): Promise<Row[]> {
  const rows: Row[] = [];
  let endDate = '2100-01-01';
  for (;;) {
    const answer = await get<List<Row> & { has_more: boolean }>(address, {
      startDate: '2000-01-01',
      endDate,
      limit: 10_000,
      ...params,
    });
    rows.push(...answer.data);
    const oldest = answer.data.at(-1);
    if (!answer.has_more || !oldest) return rows.reverse();
    endDate = new Date(Date.parse(oldest.exact_timestamp) - 1).toISOString();
  }
}

function lineOf(rows: Row[], label: string, colour: Colour, value: (row: Row) => number | null | undefined): Line {
  return {
    label,
    colour,
    times: rows.map((row) => Date.parse(row.exact_timestamp) / 1000),
    values: rows.map((row) => value(row) ?? null),
  };
}

/** The volatility of a GPU's price, a year, at each value over so many returns before it. */
export async function volatility(gpu: string, region: string, hourly: boolean, window: string): Promise<Line> {
  const rows = await allRows(path(gpu, 'volatility'), {
    windowDays: window,
    region,
    granularity: hourly ? 'hourly' : undefined,
  });
  return lineOf(rows, 'Volatility', 'series-4', (row) => row.rolling_volatility);
}

/** The share of the tracked capacity that was rented, by the day or the hour. */
export async function utilization(gpu: string, region: string, hourly: boolean): Promise<Line> {
  const rows = await allRows(path(gpu, 'volume-metrics'), { region, granularity: hourly ? 'hourly' : undefined });
  return lineOf(rows, 'Utilization', 'series-3', (row) => row.utilization_ratio);
}

/** The utilization of every GPU now. */
export const utilizationNow = (region: string) => get<List<Reading>>('/api/gpu-utilization', { region });

/** The prints of the last hour. */
export const realtime = (gpu: string, region: string) => get<Realtime>(path(gpu, 'realtime'), { region });
