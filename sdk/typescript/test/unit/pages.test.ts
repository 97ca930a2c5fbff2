import assert from 'node:assert/strict';
import type { RequestListener } from 'node:http';
import { describe, test } from 'node:test';
import { Client } from '@assaydata/client';
import { all, failure, json, serve, serveInTurn } from '../harness.js';

const hour = 3_600_000;
const start = Date.parse('2026-10-01T00:00:00Z');

/** Serves a series of ten hours as the API does. */
const series: RequestListener = (request, response) => {
  const query = new URL(request.url ?? '', 'http://x').searchParams;
  const bound = (name: string, otherwise: number) => (query.has(name) ? Date.parse(query.get(name)!) : otherwise);
  let rows = Array.from({ length: 10 }, (_, i) => start + i * hour);
  rows = rows.filter((at) => at >= bound('startDate', 0) && at <= bound('endDate', Infinity));
  if (query.get('order') === 'desc') rows.reverse();
  const limit = Number(query.get('limit'));
  const data = rows.slice(0, limit).map((at) => ({ timestamp: new Date(at).toISOString(), index_value: at / hour }));
  const body = { granularity: 'hourly', has_more: rows.length > limit, data };
  response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
};

const point = (at: number) => ({ timestamp: new Date(at).toISOString(), index_value: 1 });
const page = (has_more: boolean, ...data: object[]) => json({ granularity: 'daily', has_more, data });

describe('eachPoint', () => {
  const f = (name: string, options: object, want: number[], requests: number) =>
    test(name, async (t) => {
      const server = await serve(t, series);
      const points = await all(new Client(server.url).eachPoint('H200', options));
      assert.deepEqual(
        points.map(({ timestamp }) => (Date.parse(timestamp) - start) / hour),
        want,
      );
      assert.equal(server.requests.length, requests);
    });
  f('has all points', { limit: 3 }, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9], 4);
  f('newest first', { limit: 4, order: 'desc' }, [9, 8, 7, 6, 5, 4, 3, 2, 1, 0], 3);
  f('of a range', { limit: 2, startDate: '2026-10-01T01:00Z', endDate: new Date(start + 4 * hour) }, [1, 2, 3, 4], 2);
  f('as one request if they fit', {}, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9], 1);
  f('none', { startDate: '2027-01-01' }, [], 1);

  test('stays at the grain that auto meant first', async (t) => {
    const server = await serve(t, series);
    await all(new Client(server.url).eachPoint('H200', { limit: 6, granularity: 'auto' }));
    const grains = server.requests.map(({ url }) => new URL(url ?? '', 'http://x').searchParams.get('granularity'));
    assert.deepEqual(grains, ['auto', 'hourly']);
  });

  test('requests no more than is read', async (t) => {
    const server = await serve(t, series);
    for await (const { timestamp } of new Client(server.url).eachPoint('H200', { limit: 3 })) {
      if (timestamp.includes('T03')) break;
    }
    assert.equal(server.requests.length, 2);
  });

  test('ends with the signal', async (t) => {
    const server = await serve(t, series);
    const controller = new AbortController();
    const read = async () => {
      for await (const { timestamp } of new Client(server.url).eachPoint('H200', {
        limit: 3,
        signal: controller.signal,
      })) {
        if (timestamp.includes('T01')) controller.abort(new Error('enough'));
      }
    };
    await assert.rejects(read, /enough/);
    assert.equal(server.requests.length, 1);
  });

  test('throws what a later request meets', async (t) => {
    const server = await serveInTurn(t, page(true, point(start)), json({ message: 'Gone.', code: 'no_data' }, 404));
    const error = await failure(all(new Client(server.url).eachPoint('H200')));
    assert.equal(error.kind, 'no_data');
  });

  const dishonest = (name: string, listener: RequestListener, order: 'asc' | 'desc', message: RegExp) =>
    test(name, async (t) => {
      const server = await serve(t, listener);
      const error = await failure(all(new Client(server.url).eachPoint('H200', { order })));
      assert.equal(error.kind, 'invalid_response');
      assert.match(error.message, message);
      assert.ok(server.requests.length <= 2);
    });
  dishonest('refuses pages that stand still', page(true, point(start)), 'asc', /not in order/);
  dishonest('refuses points in the wrong order', page(false, point(start), point(start + 1)), 'desc', /not in order/);
  dishonest('refuses points without a time', page(true, { timestamp: 'soon' }), 'asc', /not in order/);
  dishonest('refuses an empty page that is not the last', page(true), 'asc', /no points/);
  dishonest('refuses a page without rows', json({ has_more: true }), 'asc', /has no list "data"/);
});

test('eachHourlyPoint has all points', async (t) => {
  const server = await serve(t, series);
  const points = await all(new Client(server.url).eachHourlyPoint('H200', { limit: 7 }));
  assert.equal(points.length, 10);
  assert.match(
    server.requests[1]?.url ?? '',
    /^\/api\/gpu\/H200\/hourly\?limit=7&startDate=2026-10-01T06%3A00%3A00.001Z$/,
  );
});

describe('eachCorrection', () => {
  test('follows the cursor', async (t) => {
    const server = await serveInTurn(
      t,
      json({ has_more: true, next: 'c1', data: [1, 2] }),
      json({ has_more: true, next: 'c2', data: [] }),
      json({ has_more: false, next: 'c3', data: [3] }),
    );
    const client = new Client(server.url);
    assert.deepEqual(await all(client.eachCorrection({ gpuType: 'H200', since: 'c0' })), [1, 2, 3]);
    assert.deepEqual(
      server.requests.map(({ url }) => url),
      ['c0', 'c1', 'c2'].map((since) => `/api/corrections?gpuType=H200&since=${since}`),
    );
  });

  test('refuses a cursor that stands still', async (t) => {
    const server = await serve(t, json({ has_more: true, next: 'c1', data: [1] }));
    assert.equal((await failure(all(new Client(server.url).eachCorrection()))).kind, 'invalid_response');
    assert.equal(server.requests.length, 2);
  });

  test('of a family', async (t) => {
    const server = await serve(t, json({ has_more: false, next: 'c1', data: [1] }));
    assert.deepEqual(await all(new Client(server.url).eachFamilyCorrection('models')), [1]);
    assert.equal(server.requests[0]?.url, '/api/corrections/models');
  });
});

describe('eachNotice', () => {
  const notices = (has_more: boolean, ...numbers: number[]) =>
    json({ has_more, data: numbers.map((number) => ({ number })) });

  test('follows the numbers', async (t) => {
    const server = await serveInTurn(t, notices(true, 9, 8), notices(false, 7));
    const found = await all(new Client(server.url).eachNotice({ limit: 2 }));
    assert.deepEqual(
      found.map(({ number }) => number),
      [9, 8, 7],
    );
    assert.equal(server.requests[1]?.url, '/api/notices?limit=2&before=8');
  });

  test('refuses numbers that stand still', async (t) => {
    const server = await serve(t, notices(true, 9));
    assert.equal((await failure(all(new Client(server.url).eachNotice()))).kind, 'invalid_response');
    assert.equal(server.requests.length, 2);
  });
});

describe('eachSite', () => {
  const sites = (has_more: boolean, ...names: string[]) => json({ has_more, sites: names });

  test('follows the offset', async (t) => {
    const server = await serveInTurn(t, sites(true, 'a', 'b'), sites(true, 'c'), sites(false, 'd'));
    assert.deepEqual(await all(new Client(server.url).eachSite({ country: 'US', offset: 5 })), ['a', 'b', 'c', 'd']);
    assert.deepEqual(
      server.requests.map(({ url }) => new URL(url ?? '', 'http://x').searchParams.get('offset')),
      ['5', '7', '8'],
    );
  });

  test('refuses an empty page that is not the last', async (t) => {
    const server = await serve(t, sites(true));
    assert.equal((await failure(all(new Client(server.url).eachSite()))).kind, 'invalid_response');
  });
});
