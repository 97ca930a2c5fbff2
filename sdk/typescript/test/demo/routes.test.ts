// Every method, against the real program.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ArgumentsOf, Client, RouteName, TableRouteName } from '@assaydata/client';
import { routes } from '../../dist/routes.js';
import { all, failure } from '../harness.js';
import { demoClient, keys } from './demo.js';

const gpu = 'H100 SXM';
const october = { startDate: '2026-10-01', endDate: '2026-10-31' };

/** Arguments for each method. Those of proofs depend on what others respond. */
const examples: { [Name in Exclude<RouteName, 'logInclusion' | 'logConsistency'>]: ArgumentsOf<Name> } = {
  health: [],
  gpuTypes: [],
  freeGpuTypes: [],
  regions: [],
  tokenTypes: [],
  freeTokenTypes: [],
  memoryTypes: [],
  codingProducts: [],
  gpuPrice: [gpu, { region: 'us-east' }],
  gpuPrices: [],
  dailyIndex: [{ gpuType: 'H200', date: '2026-10-30' }],
  dailyIndexAll: [{ date: new Date('2026-10-30') }],
  previousDailyIndex: [gpu],
  indexHistory: [gpu, { ...october, granularity: 'hourly', order: 'desc', limit: 3 }],
  h100History: [october],
  nearestValue: [gpu, { datetime: '2026-10-01 12:34:56' }],
  historySimple: [gpu, october],
  historyRange: [gpu, { ...october, limit: 2 }],
  hourlyHistory: [gpu],
  realtime: [gpu, { minutes: 5, asOf: '2026-11-01T12:00:30Z' }], // the demo's clock runs
  rollingAverage: [gpu],
  rollingAverageHistory: [gpu, october],
  volatility: [gpu, { ...october, windowDays: 7 }],
  volumeMetrics: [gpu, { ...october, partial: true }],
  gpuUtilization: [{ region: 'us-east' }],
  memoryIndex: [{ category: 'dram' }],
  memoryHistory: ['DDR5 16Gb (2Gx8) 4800/5600', october],
  codingIndex: [{ product: 'cc-prs' }],
  codingHistory: [{ product: 'cc-vs-codex', ...october }],
  otpi: [{ lab: 'openai', ...october }],
  workload: [{ lab: 'openai', family: 'all', windowDays: 1, ...october }],
  determination: [gpu, { date: '2026-10-30', revision: 0 }],
  valueDetermination: ['otpi', { series: 'openai', date: '2026-10-01' }],
  corrections: [{ gpuType: gpu, region: 'global', granularity: 'daily', limit: 5 }],
  familyCorrections: ['models', { limit: 5 }],
  bulk: [{ dataset: 'gpu-daily' }],
  methodology: [],
  notices: [{ gpuType: gpu, limit: 5 }],
  latestPublication: [],
  sites: [{ lat: 40.7, lng: -74, radiusKm: 100, scope: 'all', gpuType: 'H100' }],
  sitesAggregate: [{ by: 'gpu_type' }],
  sitesMap: [{ bbox: [-10, 35, 30, 70], scope: 'all' }],
};

/** Calls a method by its name. */
async function call(client: Client, name: RouteName, args: readonly unknown[]): Promise<Record<string, unknown>> {
  const method = client[name] as unknown as (...args: readonly unknown[]) => Promise<Record<string, unknown>>;
  return method.apply(client, [...args]);
}

describe('every method reads its route', () => {
  // Values of other families become final only by a methodology that says when.
  const absent = ['valueDetermination'];
  for (const [name, args] of Object.entries(examples) as [RouteName, readonly unknown[]][]) {
    test(name, async () => {
      const ignored: (string | null)[] = [];
      const client = demoClient({ onResponse: ({ headers }) => ignored.push(headers.get('x-assay-ignored')) });
      if (absent.includes(name)) {
        assert.equal((await failure(call(client, name, args))).kind, 'no_data');
      } else {
        const body = await call(client, name, args);
        assert.equal(name === 'health' ? body['status'] : body['success'], name === 'health' ? 'healthy' : true);
      }
      assert.deepEqual(ignored, [null]);
    });
  }

  test('logInclusion and logConsistency', async () => {
    const client = demoClient();
    const { data, inclusion } = await client.determination(gpu, { date: '2026-10-30' });
    const { data: proof } = await client.logInclusion({ record: data.hash });
    assert.equal(proof.leaf_index, inclusion?.leaf_index);
    const { data: grown } = await client.logConsistency({ from: 1, to: proof.tree_size });
    assert.equal(grown.to, proof.tree_size);
  });
});

describe('responses', () => {
  test('differ by key', async () => {
    assert.equal((await demoClient({ key: '' }).gpuPrice(gpu)).access, 'public-3mo');
    assert.equal((await demoClient({ key: keys.premium }).gpuPrice(gpu)).access, 'premium');
    assert.equal((await demoClient().gpuPrice(gpu)).access, 'full');
  });

  test('of memoryIndex are one record or several', async () => {
    const client = demoClient();
    const { data: one } = await client.memoryIndex({ type: 'mem_ddr5_16gb' });
    const { data: several } = await client.memoryIndex();
    assert.deepEqual(
      several.find(({ id }) => id === 'mem_ddr5_16gb'),
      one,
    );
  });

  test('have names with a slash', async () => {
    const { id } = await demoClient().memoryHistory('DDR5 16Gb (2Gx8) 4800/5600', { limit: 1 });
    assert.equal(id, 'mem_ddr5_16gb');
  });

  test('of the past stay as they were', async () => {
    const client = demoClient();
    const asOf = (await client.latestPublication()).data.published_at;
    assert.deepEqual(await client.gpuPrice(gpu, { asOf }), await client.gpuPrice(gpu));
    assert.equal((await failure(client.gpuPrice(gpu, { asOf: '2020-01-01' }))).kind, 'no_data');
  });
});

describe('errors', () => {
  const f = (name: string, kind: string, code: string, promise: (client: Client) => Promise<unknown>, key?: string) =>
    test(name, async () => {
      const error = await failure(promise(demoClient({ key: key ?? keys.full, maxRetries: 0 })));
      assert.deepEqual([error.kind, error.code], [kind, code]);
      assert.match(error.requestId ?? '', /./);
    });
  f('unknown GPU model', 'invalid', 'unknown_gpu', (client) => client.gpuPrice('X900'));
  f('name that looks like a path', 'invalid', 'unknown_gpu', (client) => client.gpuPrice('../gpu-prices'));
  f('bad limit', 'invalid', 'invalid_parameter', (client) => client.indexHistory(gpu, { limit: 0 }));
  f('bad day', 'invalid', 'invalid_parameter', (client) => client.indexHistory(gpu, { startDate: 'soon' }));
  f('no key', 'unauthorized', 'key_required', (client) => client.memoryIndex(), '');
  f('wrong key', 'unauthorized', 'invalid_key', (client) => client.gpuPrice(gpu), 'sk_live_wrong');
  f('revoked key', 'unauthorized', 'inactive_key', (client) => client.gpuPrice(gpu), keys.revoked);
  f(
    'outside of the free window',
    'unauthorized',
    'outside_free_window',
    (c) => c.dailyIndex({ date: '2025-01-01' }),
    '',
  );
  f('not in the plan', 'forbidden', 'full_required', (client) => client.hourlyHistory(gpu), keys.premium);
  f('unknown region', 'not_found', 'unknown_region', (client) => client.gpuPrice(gpu, { region: 'moon' }));
  f('unknown version', 'no_data', 'no_data', (client) => client.methodology({ version: '9.9.9' }));

  test('say what is allowed', async () => {
    const error = await failure(demoClient().gpuPrice('X900'));
    assert.equal(error.param, 'gpuName');
    assert.ok(error.allowed?.includes(gpu));
  });

  test('of a limit come with the time to wait, and are retried after it', async () => {
    const waits: number[] = [];
    const enough = new Error('enough');
    const client = demoClient({
      sleep: async (milliseconds) => {
        waits.push(milliseconds);
        throw enough;
      },
    });
    const requests = async () => {
      for (let i = 0; i < 61; i++) await client.regions();
    };
    await assert.rejects(requests, enough);
    assert.ok(waits[0]! > 0 && waits[0]! <= 60_000 && waits[0]! % 1000 === 0, String(waits));
  });
});

describe('iterators have what one request has', () => {
  const same = <Row>(
    name: string,
    iterate: (client: Client) => AsyncIterable<Row>,
    read: (client: Client) => Promise<Row[]>,
  ) =>
    test(name, async () => {
      const [rows, want] = [await all(iterate(demoClient())), await read(demoClient())];
      assert.ok(want.length > 10, `${want.length} rows`);
      assert.deepEqual(rows, want);
    });
  const data = async <Row>(body: Promise<{ data: Row[] }>) => (await body).data;

  same(
    'eachPoint',
    (c) => c.eachPoint(gpu, { limit: 100 }),
    (c) => data(c.indexHistory(gpu)),
  );
  same(
    'eachPoint, newest first, without a key',
    (c) => c.eachPoint(gpu, { limit: 40, order: 'desc' }),
    (c) => data(c.indexHistory(gpu, { order: 'desc' })),
  );
  const auto = { ...october, granularity: 'auto' as const };
  same(
    'eachPoint with auto',
    (c) => c.eachPoint(gpu, { ...auto, limit: 200 }),
    (c) => data(c.indexHistory(gpu, auto)),
  );
  same(
    'eachHourlyPoint',
    (c) => c.eachHourlyPoint(gpu, { ...october, limit: 100, region: 'us-east' }),
    (c) => data(c.hourlyHistory(gpu, { ...october, region: 'us-east' })),
  );
  same(
    'eachSite',
    (c) => c.eachSite({ country: 'US', scope: 'all', limit: 100 }),
    async (c) => (await c.sites({ country: 'US', scope: 'all', limit: 1000 })).sites,
  );
  same(
    'eachNotice',
    (c) => c.eachNotice({ limit: 5 }),
    (c) => data(c.notices({ limit: 100 })),
  );

  test('eachCorrection and eachFamilyCorrection end where there are none', async () => {
    assert.deepEqual(await all(demoClient().eachCorrection()), []);
    assert.deepEqual(await all(demoClient().eachFamilyCorrection('memory')), []);
  });
});

describe('tables', () => {
  for (const name of Object.keys(routes) as RouteName[]) {
    if (!routes[name].table) continue;
    test(`of ${name} has its rows`, async () => {
      const client = demoClient();
      const args = examples[name as Exclude<RouteName, 'logInclusion' | 'logConsistency'>];
      const read = client.table as unknown as (...args: readonly unknown[]) => ReturnType<typeof client.table>;
      const table = await read.call(client, name as TableRouteName, 'ndjson', ...args);
      const lines = (await table.text()).split('\n').filter((line) => line !== '');
      const body = await call(client, name, args);
      const rows = [body['data'] ?? body['sites']].flat();
      assert.deepEqual(
        lines.map((line) => JSON.parse(line) as unknown),
        rows,
      );
      assert.match(table.filename, /^assay-.*\.ndjson$/);
    });
  }

  test('as Parquet', async () => {
    const table = await demoClient().table('indexHistory', 'parquet', gpu, { limit: 5 });
    const bytes = await table.bytes();
    const magic = new TextDecoder().decode(bytes.slice(0, 4)) + new TextDecoder().decode(bytes.slice(-4));
    assert.equal(magic, 'PAR1PAR1');
  });
});

test('the cache gets 304 from the server', async () => {
  const statuses: number[] = [];
  const client = demoClient({ cache: true, onResponse: ({ status }) => statuses.push(status) });
  const first = await client.indexHistory(gpu);
  assert.deepEqual(await client.indexHistory(gpu), first);
  assert.deepEqual(statuses, [200, 304]);
});
