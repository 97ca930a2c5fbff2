import { AssayError } from './error.js';
import type { When } from './options.js';

/** What a range of a series needs: the options that move from request to request. */
interface RangeQuery {
  startDate?: When | undefined;
  endDate?: When | undefined;
  order?: 'asc' | 'desc' | undefined;
  granularity?: 'daily' | 'hourly' | 'auto' | undefined;
}

interface SeriesPage {
  has_more: boolean;
  granularity: string;
  data: { timestamp: string; index_value: number }[];
}

/** The points of a series, one part of the range after the other. */
export async function* eachPointOf<Query extends RangeQuery>(
  read: (query: Query) => Promise<SeriesPage>,
  first: Query,
): AsyncGenerator<SeriesPage['data'][number], void, undefined> {
  const direction = first.order === 'desc' ? -1 : 1;
  let query = first;
  let last = -Infinity * direction;
  for (;;) {
    const page = await read(query);
    for (const point of rowsOf(page.data, 'data')) {
      const at = Date.parse(point.timestamp);
      // A server that stood still would keep the caller in the loop. (NaN is not beyond anything.)
      if (!((at - last) * direction > 0)) throw notPaged('its points are not in order');
      last = at;
      yield point;
    }
    if (!page.has_more) return;
    if (page.data.length === 0) throw notPaged('it has no points, and says that there are more');
    const next = new Date(last + direction);
    query = direction > 0 ? { ...query, startDate: next } : { ...query, endDate: next };
    // What auto means depends on the length of the range, which is shorter now.
    if (first.granularity === 'auto') query = { ...query, granularity: page.granularity };
  }
}

/** The rows behind a cursor: `next` of a response is `since` of the following request. */
export async function* eachBehindCursor<Row, Query extends { since?: string | undefined }>(
  read: (query: Query) => Promise<{ has_more: boolean; next: string; data: Row[] }>,
  first: Query,
): AsyncGenerator<Row, void, undefined> {
  let query = first;
  for (;;) {
    const page = await read(query);
    yield* rowsOf(page.data, 'data');
    if (!page.has_more) return;
    if (page.next === query.since) throw notPaged('it says that there is more, but not where');
    query = { ...query, since: page.next };
  }
}

/** The notices, newest first: the number of the last one is `before` of the following request. */
export async function* eachBefore<Row extends { number: number }, Query extends { before?: number | undefined }>(
  read: (query: Query) => Promise<{ has_more: boolean; data: Row[] }>,
  first: Query,
): AsyncGenerator<Row, void, undefined> {
  let query = first;
  for (;;) {
    const page = await read(query);
    yield* rowsOf(page.data, 'data');
    if (!page.has_more) return;
    const last = page.data.at(-1)?.number;
    if (last === undefined || !(last < (query.before ?? Infinity))) throw notPaged('its notices are not in order');
    query = { ...query, before: last };
  }
}

/** The sites of a region, by offset. */
export async function* eachByOffset<Row, Query extends { offset?: number | undefined }>(
  read: (query: Query) => Promise<{ has_more: boolean; sites: Row[] }>,
  first: Query,
): AsyncGenerator<Row, void, undefined> {
  let query = first;
  for (;;) {
    const page = await read(query);
    yield* rowsOf(page.sites, 'sites');
    if (!page.has_more) return;
    if (page.sites.length === 0) throw notPaged('it has no sites, and says that there are more');
    query = { ...query, offset: (query.offset ?? 0) + page.sites.length };
  }
}

/** The rows, if the server sent some. */
function rowsOf<Row>(rows: Row[], name: string): Row[] {
  if (!Array.isArray(rows)) throw notPaged(`it has no list "${name}"`);
  return rows;
}

function notPaged(why: string): AssayError {
  return new AssayError('invalid_response', `A response is not what the API promises: ${why}.`, { status: 200 });
}
