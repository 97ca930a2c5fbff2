// What the palette finds: pages, and what the pages show.
import { codingProducts } from './coding';
import { freeGPUs, gpuTypes } from './gpu';
import { memoryTypes } from './memory';
import { readDescription } from './openapi';
import { settingsSections } from './settings';
import { freeLabs, labs } from './tokens';
import { matches } from './view';

/** Something to go to, or to do. */
export interface Entry {
  label: string;
  /** What kind of thing it is. */
  group: string;
  /** Other words that it is found by. */
  words?: string;
  /** Where it is; without it, `run` does something. */
  href?: string;
  run?: () => void;
  /** Why the reader may not see all of it. */
  locked?: string | undefined;
}

const page = (label: string, href: string, words = ''): Entry => ({ label, group: 'Page', href, words });

/** The pages that need no name in their address. */
export const pageEntries: Entry[] = [
  page('Overview', '/', 'home start prices gpu'),
  page('Prices by region', '/regions', 'gpu heat map'),
  page('Memory', '/memory', 'dram flash module'),
  page('Tokens', '/tokens', 'labs models llm'),
  page('Workload', '/workload', 'cost request labs'),
  page('Coding', '/coding', 'pull requests tools'),
  page('Sites', '/sites', 'data centers map'),
  page('Plans', '/plans', 'price premium full trial'),
  page('Methodology', '/methodology', 'rules versions'),
  page('Corrections and notices', '/corrections', 'restatements revisions'),
  page('Status', '/status', 'health freshness incidents'),
  page('API reference', '/docs', 'routes openapi documentation'),
];

/** What the catalogs of the API name. */
export interface Catalogs {
  gpus: { name: string; free: boolean }[];
  memory: { id: string; label: string }[];
  labs: { id: string; label: string; free: boolean }[];
  coding: { id: string; label: string }[];
}

/** Reads the catalogs, which are open to anyone. One that cannot be read now has no entries. */
export async function readCatalogs(): Promise<Catalogs> {
  const none = () => [];
  const [gpus, gpusFree, memory, allLabs, labsFree, coding] = await Promise.all([
    gpuTypes().then(({ data }) => data, none),
    freeGPUs().then(({ data }) => data, none),
    memoryTypes().then(({ data }) => data, none),
    labs().then(({ data }) => data, none),
    freeLabs().then(({ data }) => data, none),
    codingProducts().then(({ data }) => data, none),
  ]);
  const freeNames = new Set(gpusFree.map((row) => row.gpu_name));
  const freeIDs = new Set(labsFree.map((row) => row.lab));
  return {
    gpus: gpus.map(({ gpu_name: name }) => ({ name, free: freeNames.has(name) })),
    memory: memory.map(({ id, memory_type }) => ({ id, label: memory_type })),
    labs: allLabs.map(({ lab, label }) => ({ id: lab, label, free: freeIDs.has(lab) })),
    coding: coding.map(({ id, label }) => ({ id, label })),
  };
}

/** The entries of the catalogs. Without Premium, most of them are locked. */
export function catalogEntries({ gpus, memory, labs, coding }: Catalogs, locked: boolean): Entry[] {
  const unless = (free: boolean) => (locked && !free ? 'Available with Premium' : undefined);
  const at = (path: string, name: string, id: string) => `${path}?${new URLSearchParams({ [name]: id })}`;
  return [
    ...gpus.map(({ name, free }) => ({
      label: name,
      group: 'GPU',
      words: 'price',
      href: `/gpu/${encodeURIComponent(name)}`,
      locked: unless(free),
    })),
    ...memory.map(({ id, label }) => ({
      label,
      group: 'Memory',
      words: `${id} price`,
      href: at('/memory', 'show', id),
      locked: unless(false),
    })),
    ...labs.map(({ id, label, free }) => ({
      label,
      group: 'Tokens',
      words: `${id} lab price`,
      href: at('/tokens', 'show', id),
      locked: unless(free),
    })),
    ...labs.map(({ id, label }) => ({
      label: `Workload of ${label}`,
      group: 'Workload',
      words: `${id} lab cost`,
      href: at('/workload', 'lab', id),
      locked: unless(false),
    })),
    ...coding.map(({ id, label }) => ({
      label,
      group: 'Coding',
      words: id,
      href: at('/coding', 'show', id),
      locked: unless(false),
    })),
  ];
}

/** The sections of the settings, for an account. */
export const settingsEntries: Entry[] = settingsSections.map(({ id, title }) => ({
  label: title,
  group: 'Settings',
  words: 'account',
  href: `/settings#${id}`,
}));

/** Reads the operations of the API. Their description is long, so it is read when something is searched for. */
export async function readOperations(): Promise<Entry[]> {
  const { tags } = await readDescription();
  return tags
    .flatMap((tag) => tag.operations)
    .map(({ id, method, path, summary }) => ({
      label: summary,
      group: 'API',
      words: `${method} ${path} ${id}`,
      href: `/docs?${new URLSearchParams({ op: id })}`,
    }));
}

/** How many entries are shown. */
export const mostShown = 40;

/** The entries in which every word of a query occurs, better matches first. */
export function search(entries: Entry[], query: string): Entry[] {
  const wanted = query.trim().toLowerCase();
  if (wanted === '') return entries.slice(0, mostShown);
  return entries
    .filter(({ label, group, words = '' }) => matches(wanted, label, group, words))
    .map((entry, place) => ({ entry, place, rank: rankOf(entry, wanted) }))
    .sort((a, b) => a.rank - b.rank || a.place - b.place)
    .slice(0, mostShown)
    .map(({ entry }) => entry);
}

/** How well an entry matches that matches at all: 0 is best. */
function rankOf({ label }: Entry, wanted: string): number {
  const text = label.toLowerCase();
  if (text === wanted) return 0;
  if (text.startsWith(wanted)) return 1;
  const begins = text.split(/[^\p{L}\p{N}]+/u);
  const words = wanted.split(/\s+/);
  if (words.every((word) => begins.some((begin) => begin.startsWith(word)))) return 2;
  return words.every((word) => text.includes(word)) ? 3 : 4;
}
