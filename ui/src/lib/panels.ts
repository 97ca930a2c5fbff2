// What the GPU page shows besides the price: volatility, utilization and the prints of the last hour.
import { get, type ResponseBody, type Row } from './api';
import type { Color, Line } from './series';

export type Reading = Row<'/api/gpu-utilization'>;
export type Realtime = ResponseBody<'/api/gpu/{gpuName}/realtime'>;

/** A response holds at most 10,000 rows, the newest first. Older rows follow in further requests. */
interface Page<R> {
  has_more: boolean;
  data: R[];
}

/** Reads all pages and returns the rows oldest first. */
export async function readAll<R extends { exact_timestamp: string }>(
  read: (query: { startDate: string; endDate: string; limit: number }) => Promise<Page<R>>,
): Promise<R[]> {
  const rows: R[] = [];
  let endDate = '2100-01-01';
  for (;;) {
    const page = await read({ startDate: '2000-01-01', endDate, limit: 10_000 });
    rows.push(...page.data);
    const oldest = page.data.at(-1);
    if (!page.has_more || !oldest) return rows.reverse();
    endDate = new Date(Date.parse(oldest.exact_timestamp) - 1).toISOString();
  }
}

function lineOf<R extends { exact_timestamp: string }>(
  rows: R[],
  label: string,
  color: Color,
  value: (row: R) => number | null,
): Line {
  return {
    label,
    color,
    times: rows.map((row) => Date.parse(row.exact_timestamp) / 1000),
    values: rows.map(value),
  };
}

const grain = (hourly: boolean) => (hourly ? 'hourly' : undefined);

/** The annualized volatility of a GPU model's price, at each value over a window of returns before it. */
export async function volatility(gpu: string, region: string, hourly: boolean, window: string): Promise<Line> {
  const path = { gpuName: gpu };
  const rows = await readAll((range) =>
    get('/api/gpu/{gpuName}/volatility', {
      path,
      query: { ...range, windowDays: window, region, granularity: grain(hourly) },
    }),
  );
  return lineOf(rows, 'Volatility', 'series-4', (row) => row.rolling_volatility);
}

/** The share of the tracked capacity that was rented, by day or hour. */
export async function utilization(gpu: string, region: string, hourly: boolean): Promise<Line> {
  const path = { gpuName: gpu };
  const rows = await readAll((range) =>
    get('/api/gpu/{gpuName}/volume-metrics', { path, query: { ...range, region, granularity: grain(hourly) } }),
  );
  return lineOf(rows, 'Utilization', 'series-3', (row) => row.utilization_ratio);
}

/** The current utilization of every GPU model. */
export const utilizationNow = (region: string) => get('/api/gpu-utilization', { query: { region } });

/** The prints of the last hour. */
export const realtime = (gpu: string, region: string) =>
  get('/api/gpu/{gpuName}/realtime', { path: { gpuName: gpu }, query: { region } });

type Print = Realtime['data'][number];

/** The prints of the last hour with the next one. Prints come in order; one that is not newer changes nothing. */
export function withPrint(shown: Realtime, { timestamp, index_value, transactions, gpu_hours }: Print): Realtime {
  const at = Date.parse(timestamp);
  if (at <= Date.parse(shown.latest.timestamp)) return shown;
  const print = { timestamp, index_value, transactions, gpu_hours };
  const hour = shown.data.filter((row) => Date.parse(row.timestamp) > at - 3_600_000);
  return { ...shown, latest: { ...shown.latest, ...print }, count: hour.length + 1, data: [...hour, print] };
}

/** Whether minutes are missing before a print: then the prints are read again. */
export const isAfterGap = (shown: Realtime, next: Print): boolean =>
  Date.parse(next.timestamp) - Date.parse(shown.latest.timestamp) > 60_000;
