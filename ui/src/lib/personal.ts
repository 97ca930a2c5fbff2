// What the signed-in account keeps for itself: a watchlist and saved views.
import type { components } from '../../generated/api';
import { ApiError, clearCache, get, send } from './api';
import { pageOf } from './pages';

export type Watchlist = components['schemas']['Watchlist'];
export type SavedView = components['schemas']['View'];

/** A change of the watchlist: a GPU model is watched from now on, or no longer. */
export interface Watching {
  gpu: string;
  watch: boolean;
}

const watchlistPath = '/api/watchlist';
const viewsPath = '/api/views';

export const readWatchlist = async (): Promise<Watchlist> => (await get(watchlistPath)).data;

/** The watched GPU models after a change. A new one comes last. */
export function withChange(gpus: readonly string[], { gpu, watch }: Watching): string[] {
  const others = gpus.filter((other) => other !== gpu);
  if (!watch) return others;
  return others.length === gpus.length ? [...gpus, gpu] : [...gpus];
}

// Another window may change the list between a read and a write. Then the change is made again, on what the list is now.
const attempts = 4;

/** Changes the watchlist that was read before, without undoing what other windows have changed since. */
export async function changeWatchlist(before: Watchlist | undefined, change: Watching): Promise<Watchlist> {
  let known = before;
  for (let attempt = 1; ; attempt++) {
    const list = known ?? (await readWatchlist());
    try {
      const body = { gpu_types: withChange(list.gpu_types, change), version: list.version };
      return (await send('put', watchlistPath, body)).data;
    } catch (cause) {
      const { code } = ApiError.from(cause);
      // A list that was read some time ago may also have a model that is no longer published.
      const old = code === 'watchlist_changed' || (code === 'unknown_gpu' && known !== undefined);
      if (!old || attempt === attempts) throw cause;
      known = undefined;
    } finally {
      clearCache(watchlistPath);
    }
  }
}

/** The saved views of the account, oldest first. Without an account, the server refuses. */
export const savedViews = async (): Promise<SavedView[]> => (await get(viewsPath)).data;

export const saveView = (name: string, path: string) => changed(send('post', viewsPath, { name, path }));
export const deleteView = (id: string) => changed(send('delete', '/api/views/{id}', undefined, { path: { id } }));

async function changed<T>(change: Promise<T>): Promise<T> {
  try {
    return await change;
  } finally {
    clearCache(viewsPath); // also after a failure: the server may have made the change before the connection broke
  }
}

const longestName = 80;

// What a view is called by, beside its page: the parameters that readers choose, as far as they read well in a name.
const told: [name: string, words: (value: string) => string][] = [
  ['compare', (value) => `, ${value.replaceAll(',', ', ')}`],
  ['region', (value) => ` in ${value}`],
  ['category', (value) => ` · ${value}`],
  ['lab', (value) => ` · ${value}`],
  ['filter', (value) => ` · ${value}`],
  ['range', (value) => ` · ${value}`],
  ['from', (value) => ` · from ${value}`],
  ['to', (value) => ` · to ${value}`],
];

/** What a view is called unless its reader calls it otherwise: the title of its page, and what was chosen there. */
export function nameOfView(path: string, query: URLSearchParams, taken: readonly string[] = []): string {
  const zoomed = query.has('from') || query.has('to');
  let name = pageOf(path).title;
  for (const [parameter, words] of told) {
    const value = query.get(parameter);
    if (value && !(zoomed && parameter === 'range')) name += words(value);
  }
  name = cut(name, longestName);
  for (let number = 2; taken.includes(name); number++) {
    const suffix = ` (${number})`;
    name = cut(name.replace(/ \(\d+\)$/, ''), longestName - suffix.length) + suffix;
  }
  return name;
}

const cut = (text: string, most: number) => [...text].slice(0, most).join('').trim();
