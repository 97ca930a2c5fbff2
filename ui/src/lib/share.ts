// Share links of the signed-in account, and the code that puts charts and tables into other people's pages.
import { clearCache, get, send, type ResponseBody, type Row } from './api';
import type { components } from '../../generated/api';
import { freeGPUs, gpuTypes } from './gpu';
import { labs, freeLabs } from './tokens';
import type { Tier } from './session.svelte';

export type ShareLink = Row<'/api/share-links'>;
export type ShareLinks = ResponseBody<'/api/share-links'>;
export type NewShareLink = components['schemas']['NewShareLink'];
export type WithToken = ResponseBody<'/api/share-links', 'post'>;
export type Family = NewShareLink['family'];
export type ShareRange = NonNullable<NewShareLink['range']>;

export const listShareLinks = () => get('/api/share-links');
export const createShareLink = (link: NewShareLink) => changed(send('post', '/api/share-links', link));
export const revokeShareLink = (id: string) =>
  changed(send('delete', '/api/share-links/{id}', undefined, { path: { id } }));

async function changed<T>(change: Promise<T>): Promise<T> {
  const result = await change;
  clearCache('/api/share-links');
  return result;
}

export const familyNames: Record<Family, string> = {
  gpu: 'GPU prices',
  memory: 'Memory prices',
  models: 'Token prices',
  coding: 'Coding metrics',
  utilization: 'GPU utilization',
};

export const rangeNames: Record<ShareRange, string> = {
  '7d': '7 days',
  '1m': '1 month',
  '3m': '3 months',
  '6m': '6 months',
  '1y': '1 year',
  all: 'Everything',
};

export const linkStatuses: Record<string, string> = {
  active: 'Active',
  reduced: 'Shows less',
  no_access: 'No access',
};

/** Why a link does not show what it was made for; empty if it does. */
export function statusReason(link: ShareLink): string {
  if (link.status === 'reduced') return 'Your access has become less: it shows daily values, or only the free window.';
  if (link.status === 'no_access')
    return 'Your access does not include this series any more. The link responds with 403.';
  return '';
}

/** Only these have regions and hourly values. */
export const hasGrains = (family: Family) => family === 'gpu' || family === 'utilization';

/** What a link shows, in a line. */
export function describe(link: ShareLink): string {
  const family = familyNames[link.family as Family] ?? link.family;
  const where = link.region === 'global' ? '' : ` in ${link.region}`;
  const range = rangeNames[link.range as ShareRange] ?? link.range;
  return `${family}: ${link.series}${where}, ${link.granularity}, ${range.toLowerCase()}`;
}

/** A series that a link can show. `locked` needs a plan. */
export interface Choice {
  id: string;
  label: string;
  locked: boolean;
}

/** The series of a family, with those that the reader's access leaves out. */
export async function seriesOf(family: Family, tier: Tier): Promise<Choice[]> {
  const locked = tier === 'anonymous';
  switch (family) {
    case 'gpu': {
      const [all, free] = await Promise.all([gpuTypes(), freeGPUs()]);
      const isFree = new Set(free.data.map((row) => row.gpu_name));
      return all.data.map(({ gpu_name: id }) => ({ id, label: id, locked: locked && !isFree.has(id) }));
    }
    case 'utilization':
      return (await gpuTypes()).data.map(({ gpu_name: id }) => ({ id, label: id, locked }));
    case 'models': {
      const [all, free] = await Promise.all([labs(), freeLabs()]);
      const isFree = new Set(free.data.map((row) => row.lab));
      return all.data.map(({ lab: id }) => ({ id, label: id, locked: locked && !isFree.has(id) }));
    }
    case 'memory':
      return (await get('/api/memory-types')).data.map(({ id, memory_type: label }) => ({ id, label, locked }));
    case 'coding': {
      const products = (await get('/api/llm-coding/products')).data;
      return products.filter((one) => !one.compare).map(({ id, label }) => ({ id, label, locked }));
    }
  }
}

/** One way to use a link: where it goes, and what to paste there. */
export interface Paste {
  label: string;
  text: string;
}

/** What to paste where, for a new link. `origin` is the address of this server. */
export function pastes(origin: string, { paths, data }: Pick<WithToken, 'paths' | 'data'>): Paste[] {
  const title = data.series.replaceAll(/[[\]\\]/g, String.raw`\$&`);
  return [
    { label: 'Google Sheets', text: `=IMPORTDATA("${origin}${paths.csv}")` },
    { label: 'Excel: Data → From Web', text: origin + paths.csv },
    { label: 'Badge in Markdown', text: `![${title}](${origin}${paths.svg}?style=badge)` },
    { label: 'Chart in HTML', text: `<img src="${origin}${paths.svg}" alt="${attribute(data.series)}">` },
    { label: 'JSON', text: origin + paths.json },
  ];
}

/** The frame that embeds the chart of a free GPU model in a page. */
export function embedCode(origin: string, gpu: string, region: string, range: ShareRange): string {
  const query = new URLSearchParams({ range: embedRanges.has(range) ? range : '3m' });
  if (region) query.set('region', region);
  const address = attribute(`${origin}/embed/gpu/${encodeURIComponent(gpu)}?${query}`);
  const title = attribute(`${gpu}, USD per GPU-hour`);
  return `<iframe src="${address}" width="720" height="360"\n  title="${title}" loading="lazy" style="border:0"></iframe>`;
}

// What everyone may see.
const embedRanges = new Set<ShareRange>(['7d', '1m', '3m']);

const attribute = (text: string) => text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;');

/** The range of a link that shows at least what a chart shows. */
export function rangeOf(shown: string): ShareRange {
  const same: Record<string, ShareRange> = {
    '1D': '7d',
    '1W': '7d',
    '1M': '1m',
    '3M': '3m',
    YTD: '1y',
    '1Y': '1y',
    All: 'all',
  };
  return same[shown] ?? '3m';
}
