// The proof of a published value: its record, what became of it, and the commands that check it.
import { get } from './api';
import { day } from './format';
import { history } from './gpu';
import type { List } from './types';

/** How one value came to be, as the API tells it. Without a value, it was taken back. */
export interface Determination {
  gpu_type: string;
  region: string;
  granularity: 'daily' | 'hourly';
  timestamp: string;
  revision: number;
  window: { from: string; to: string };
  methodology: string;
  receipt: number;
  index_value: number | null;
  transactions: number;
  gpu_hours: number;
  providers: number;
  hhi: number;
  lowest_price: number | null;
  highest_price: number | null;
  median_price: number | null;
  excluded: Record<string, number>;
  adjusted: Record<string, number>;
  inputs_digest: string;
  published_at: string;
  previous_hash: string;
  hash: string;
}

interface DeterminationAnswer {
  revisions: number;
  data: Determination;
}

export interface Correction {
  timestamp: string;
  revision: number;
  index_value: number | null;
  corrected_at: string;
  reason: string;
}

export interface Methodology {
  version: string;
  effective_at: string;
  adopted_at: string;
  text: string;
}

/** A series: all slots of a GPU in a region, '' for all regions, by the day or the hour. */
export interface Series {
  gpu: string;
  region: string;
  hourly: boolean;
}

/** The slots of a series that have a record, oldest first, and the restatements of them. */
export interface Slots {
  instants: string[];
  corrections: Correction[];
}

/**
 * Reads which slots have a record. A slot whose value was taken back is missing in the history; the restatement tells of
 * it. So no record is ever asked for in vain.
 */
export async function slotsOf(series: Series): Promise<Slots> {
  const [published, restated] = await Promise.all([
    history(series.gpu, { region: series.region, hourly: series.hourly, all: true }),
    get<List<Correction>>('/api/corrections', {
      gpuType: series.gpu,
      region: series.region || 'global',
      granularity: series.hourly ? 'hourly' : 'daily',
      limit: 10_000,
    }),
  ]);
  const instants = new Set(published.data.map((point) => point.timestamp));
  for (const correction of restated.data) instants.add(correction.timestamp);
  return { instants: [...instants].sort(), corrections: restated.data };
}

/** The place of the slot that an instant names: its exact end or, of a daily one, its settlement day. -1 when none does. */
export function placeOf(instants: string[], at: string, hourly: boolean): number {
  const asked = Date.parse(at);
  if (Number.isNaN(asked)) return -1;
  return instants.findIndex((instant) => (hourly ? Date.parse(instant) === asked : day(instant) === day(asked)));
}

/** The address of a slot's record. */
export function recordPath(series: Series, at: string): { path: string; params: Record<string, string> } {
  const params: Record<string, string> = series.hourly ? { timestamp: at } : { date: day(at) };
  if (series.region) params.region = series.region;
  return { path: `/api/gpu/${encodeURIComponent(series.gpu)}/determination`, params };
}

/** The record as it was known at an instant. */
export async function recordAsOf(series: Series, at: string, asOf: string): Promise<Determination> {
  const { path, params } = recordPath(series, at);
  return (await get<DeterminationAnswer>(path, { ...params, as_of: asOf })).data;
}

/** All revisions of a slot, the first one first. */
export async function revisionsOf(series: Series, at: string): Promise<Determination[]> {
  const { path, params } = recordPath(series, at);
  const newest = await get<DeterminationAnswer>(path, params);
  const earlier = Array.from(
    { length: newest.revisions - 1 },
    async (_, revision) => (await get<DeterminationAnswer>(path, { ...params, revision })).data,
  );
  return [...(await Promise.all(earlier)), newest.data];
}

export const methodologies = () => get<List<Methodology>>('/api/methodology');

/** The key that manifests are signed with; empty when nothing is signed yet. */
export async function publicKey(): Promise<string> {
  const answer = await get<{ data: { manifest: { public_key: string } | null } }>('/api/publications/latest');
  return answer.data.manifest?.public_key ?? '';
}

/** A word of a POSIX shell. */
export const word = (text: string): string =>
  /^[\w./:=+@%-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

const hour = 3_600_000;
const seconds = (at: number) => new Date(at).toISOString().replace('.000Z', 'Z');

/** The command that computes the slot anew from the stored transactions. */
export function verifyCommand(record: Determination, folder: string): string {
  const at = Date.parse(record.timestamp);
  return `assay verify --dir ${word(folder)} --gpu ${word(record.gpu_type)} --from ${seconds(at)} --to ${seconds(at + hour)}`;
}

/** The commands that carry the proof to another machine, check it there, and find the record in it. */
export function bundleCommands(record: Determination, folder: string, key: string): string {
  const from = day(record.timestamp);
  const bundle = `proof-${from}`;
  return [
    `assay export --dir ${word(folder)} --bundle ${bundle} --from ${from} --to ${day(Date.parse(from) + 24 * hour)}`,
    `assay verify --bundle ${bundle}${key ? ` --public-key ${word(key)}` : ''}`,
    `grep ${record.hash} ${bundle}/records.ndjson`,
  ].join('\n');
}

/** The command that fetches the record from the API. */
export function fetchCommand(series: Series, record: Determination): string {
  const { path, params } = recordPath(series, record.timestamp);
  const query = new URLSearchParams({ ...params, revision: String(record.revision) });
  return `curl -H "Authorization: Bearer $ASSAY_KEY" ${word(`${location.origin}${path}?${query}`)}`;
}
