// The proof of a published value: its record, its revisions, and the commands that check it.
import { addressOf, get, getText, type ResponseBody, type Row } from './api';
import { count, day, exact, instant } from './format';
import { history } from './gpu';

const recordRoute = '/api/gpu/{gpuName}/determination';

/** How one value was computed. A record without a value withdraws an earlier one. */
export type Determination = ResponseBody<typeof recordRoute>['data'];
export type Correction = Row<'/api/corrections'>;

/** A series: all slots of a GPU model in a region ('' for all regions), daily or hourly. */
export interface Series {
  gpu: string;
  region: string;
  hourly: boolean;
}

/** The slots of a series that have a record, oldest first, and their restatements. */
export interface Slots {
  instants: string[];
  corrections: Correction[];
}

/**
 * Reads which slots have a record, so that only existing records are requested. A slot whose value was withdrawn is
 * missing from the history; its restatement names it. Without a key there are no restatements, and fewer slots.
 */
export async function slotsOf(series: Series, keyed: boolean): Promise<Slots> {
  const [published, corrections] = await Promise.all([
    history(series.gpu, { region: series.region, hourly: series.hourly, all: keyed }),
    keyed ? correctionsOf(series) : [],
  ]);
  const instants = new Set(published.data.map((point) => point.timestamp));
  for (const correction of corrections) instants.add(correction.timestamp);
  return { instants: [...instants].sort(), corrections };
}

/** All restatements of a series, in the order of their publication. */
export async function correctionsOf(series: Series): Promise<Correction[]> {
  const rows: Correction[] = [];
  let since: string | undefined;
  for (;;) {
    const page = await get('/api/corrections', {
      query: {
        gpuType: series.gpu,
        region: series.region || 'global',
        granularity: series.hourly ? 'hourly' : 'daily',
        limit: 10_000,
        since,
      },
    });
    rows.push(...page.data);
    if (!page.has_more) return rows;
    since = page.next;
  }
}

/** The address of the page that proves the value of a slot. */
export function proofAddress(series: Series, at: string, asOf?: string): string {
  const query = new URLSearchParams({ at, grain: series.hourly ? 'hourly' : 'daily' });
  if (series.region) query.set('region', series.region);
  if (asOf) query.set('as_of', asOf);
  return `/proof/${encodeURIComponent(series.gpu)}?${query}`;
}

/**
 * The index of the slot that an instant names: by its exact end or, for a daily slot, by its settlement day. -1 if there
 * is none.
 */
export function slotIndex(instants: string[], at: string, hourly: boolean): number {
  const wanted = Date.parse(at);
  if (Number.isNaN(wanted)) return -1;
  return instants.findIndex((instant) => (hourly ? Date.parse(instant) === wanted : day(instant) === day(wanted)));
}

/** The parameters of the request for a slot's record. */
function recordOf(series: Series, at: string, more: { as_of?: string; revision?: number } = {}) {
  const slot = series.hourly ? { timestamp: at } : { date: day(at) };
  return { path: { gpuName: series.gpu }, query: { ...slot, region: series.region, ...more } };
}

// The responses that records came with. Their text is what is verified: records that were parsed have lost it.
const responses = new WeakMap<Determination, string>();

/** The exact text of the response that a record came with. */
export const responseOf = (record: Determination): string => responses.get(record) ?? '';

async function readRecord(...parameters: Parameters<typeof recordOf>): Promise<ResponseBody<typeof recordRoute>> {
  const text = await getText(recordRoute, recordOf(...parameters));
  const body: ResponseBody<typeof recordRoute> = JSON.parse(text);
  responses.set(body.data, text);
  return body;
}

/** The newest record of a slot. */
export async function newestRecord(series: Series, at: string): Promise<Determination> {
  return (await readRecord(series, at)).data;
}

/** The record as it was at an instant. */
export async function recordAsOf(series: Series, at: string, asOf: string): Promise<Determination> {
  return (await readRecord(series, at, { as_of: asOf })).data;
}

/** All revisions of a slot, oldest first. */
export async function revisionsOf(series: Series, at: string): Promise<Determination[]> {
  const newest = await readRecord(series, at);
  const earlier = Array.from(
    { length: newest.revisions - 1 },
    async (_, revision) => (await readRecord(series, at, { revision })).data,
  );
  return [...(await Promise.all(earlier)), newest.data];
}

/** The key that manifests are signed with; empty if nothing is signed yet. */
export async function publicKey(): Promise<string> {
  const { data } = await get('/api/publications/latest');
  return data.manifest?.public_key ?? '';
}

const number = (n: number, one: string) => `${count(n)} ${one}${n === 1 ? '' : 's'}`;

/** What a value rests on, and whether it has changed, in a sentence. `revisions` is how many records its slot has. */
export function sentenceOf(record: Determination, revisions: number): string {
  const earlier = record.revision < revisions - 1;
  const state = earlier
    ? 'restated since'
    : record.revision === 0
      ? 'unchanged since publication'
      : `restated ${record.revision === 1 ? 'once' : `${record.revision} times`}, last ${exact(record.published_at)}`;
  if (record.index_value === null) return `Taken back: no value holds for this time; ${state}.`;
  const basis = `${number(record.transactions, 'verified rental')} by ${number(record.providers, 'provider')}`;
  return `${basis}, ${number(record.gpu_hours, 'GPU-hour')}; ${state}.`;
}

/** How to cite a value, so that others find the same revision of it whatever is restated later. */
export function citation(origin: string, series: Series, record: Determination): string {
  const value = record.index_value === null ? 'taken back' : `${record.index_value.toFixed(4)} USD per GPU-hour`;
  return [
    `${series.gpu} (${record.region}), ${record.granularity} index, ${instant(record.timestamp)}: ${value}.`,
    `Assay, revision ${record.revision}, methodology ${record.methodology}, as of ${record.published_at},`,
    `record ${record.hash}.`,
    origin + proofAddress(series, record.timestamp, record.published_at),
  ].join(' ');
}

/** Quotes a word for a POSIX shell where needed. */
export const shellWord = (text: string): string =>
  /^[\w./:=+@%-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

const hour = 3_600_000;
const seconds = (at: number) => new Date(at).toISOString().replace('.000Z', 'Z');

/** The command that recomputes the slot from the stored transactions. */
export function verifyCommand(record: Determination, folder: string): string {
  const at = Date.parse(record.timestamp);
  const range = `--from ${seconds(at)} --to ${seconds(at + hour)}`;
  return `assay verify --dir ${shellWord(folder)} --gpu ${shellWord(record.gpu_type)} ${range}`;
}

/** The commands that export the proof, check it without the database, and find the record in it. */
export function bundleCommands(record: Determination, folder: string, key: string): string {
  const from = day(record.timestamp);
  const to = day(Date.parse(from) + 24 * hour);
  const bundle = `proof-${from}`;
  return [
    `assay export --dir ${shellWord(folder)} --bundle ${bundle} --from ${from} --to ${to}`,
    `assay verify --bundle ${bundle}${key ? ` --public-key ${shellWord(key)}` : ''}`,
    `grep ${record.hash} ${bundle}/records.ndjson`,
  ].join('\n');
}

/** The command that reads the record from the API at an origin. */
export function fetchCommand(origin: string, series: Series, record: Determination): string {
  const address = addressOf(recordRoute, recordOf(series, record.timestamp, { revision: record.revision }));
  return `curl -H "Authorization: Bearer $ASSAY_KEY" ${shellWord(origin + address)}`;
}
