// Generates clients from the description that a running server sends, with the tools most people use and without options for
// this API, compiles them strictly, and calls ten routes of the server with each. A validating proxy then compares the
// server's responses with the description.
//
//     make build && make generators
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { promisify } from 'node:util';

const run = promisify(execFile);
const here = import.meta.dirname;
const tools = join(here, 'node_modules/.bin');
const binary = resolve(here, '../..', process.env.ASSAY_TEST_BINARY ?? 'bin/assay');

// The demo at this moment always has the same figures.
const now = '2026-11-01T12:01:00Z';

let folder, address, keys, description;
const started = [];

/** A port that no one listens on. */
async function freePort() {
  const server = createServer();
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
  const { port } = server.address();
  await new Promise((closed) => server.close(closed));
  return port;
}

/** Starts a program that serves an address until the tests end, and waits until it responds. */
async function serve(file, args, url) {
  const child = spawn(file, args, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output = (output + text).slice(-4000)));
  started.push(child);
  for (;;) {
    if (child.exitCode !== null || child.signalCode !== null) throw new Error(`${file} ended: ${output}`);
    const response = await fetch(url).catch(() => undefined);
    if (response?.ok) return;
    await new Promise((later) => setTimeout(later, 50));
  }
}

before(async () => {
  folder = await mkdtemp(join(process.env.TMPDIR ?? tmpdir(), 'assay-generators-'));
  address = `http://127.0.0.1:${await freePort()}`;
  const file = join(folder, 'keys.json');
  await run(resolve(here, '../../scripts/demo-market'), [join(folder, 'demo'), now], { env: { ...process.env, ASSAY_TEST_BINARY: binary } });
  const demo = ['demo', '--dir', 'demo', '--addr', address.slice('http://'.length), '--end', now, '--no-feed', '--keys-file', file];
  await serve(binary, demo, `${address}/readyz`);
  keys = JSON.parse(await readFile(file, 'utf8'));
  description = join(folder, 'openapi.yaml');
  await writeFile(description, await (await fetch(`${address}/openapi.yaml`)).text());
});

after(async () => {
  for (const child of started) child.kill();
  await Promise.all(started.map((child) => child.exitCode ?? new Promise((exit) => child.once('exit', exit))));
  await rm(folder, { recursive: true, force: true });
});

/** What a client program reads, given as the program and its arguments. */
async function facts(file, ...args) {
  const { stdout } = await run(file, args, { env: { ...process.env, ASSAY_URL: address, ASSAY_KEY: fullKey() } });
  return JSON.parse(stdout);
}

const fullKey = () => keys.full;

/** What a client has to read, from the responses themselves. */
async function want() {
  const read = async (path) =>
    (await fetch(address + path, { headers: { Authorization: `Bearer ${fullKey()}` } })).json();
  const range = 'startDate=2026-10-01&endDate=2026-10-05';
  const model = '/api/gpu/H100%20SXM';
  return {
    status: (await read('/readyz')).status,
    models: (await read('/api/gpu-types')).data.map((row) => row.gpu_name),
    price: (await read(model)).data.index_value,
    prices: (await read('/api/gpu-prices')).count,
    day: (await read('/api/daily-index?gpuType=H200&date=2026-10-30')).data.date,
    history: (await read(`${model}/index-history?${range}`)).data.map((row) => [row.timestamp, row.index_value]),
    hours: (await read(`${model}/hourly?${range}`)).count,
    memory: (await read('/api/memory-index?category=dram')).data.map((row) => row.id),
    tokens: (await read(`/api/otpi?lab=openai&${range}`)).data.map((row) => [row.date, row.indexPerMtok]),
    sites: (await read('/api/neocloud/sites?country=Norway&limit=5')).sites.map((site) => site.key_customer),
    unknown: (await read('/api/gpu/A%20model%20of%20tomorrow')).code,
  };
}

suite('clients', { concurrency: 2 }, () => {
  test('openapi-typescript and hey-api', async () => {
    const project = join(folder, 'typescript');
    await cp(join(here, 'testdata'), project, { recursive: true });
    await symlink(join(here, 'node_modules'), join(project, 'node_modules'));
    await run(join(tools, 'openapi-typescript'), [description, '-o', 'types.ts'], { cwd: project });
    await run(join(tools, 'openapi-ts'), ['-i', description, '-o', 'hey'], { cwd: project });
    await run(join(tools, 'tsc'), ['-p', '.'], { cwd: project }).catch((error) => assert.fail(error.stdout));
    const expected = await want();
    assert.equal(expected.unknown, 'unknown_gpu');
    assert.ok(expected.history.length === 5 && expected.hours > 100 && expected.sites.length > 0, 'the demo has data');
    assert.deepEqual(await facts('node', join(project, 'compiled/openapi-typescript.js')), expected);
    assert.deepEqual(await facts('node', join(project, 'compiled/hey-api.js')), expected);
  });

  test('oapi-codegen', async () => {
    const project = join(folder, 'go');
    await mkdir(join(project, 'api'), { recursive: true });
    for (const name of ['go.mod', 'go.sum', 'testdata/main.go']) await cp(join(here, name), join(project, name.split('/').at(-1)));
    const generate = ['-package', 'api', '-generate', 'types,client', '-o', 'api/api.go', description];
    await run(join(here, 'bin/oapi-codegen'), generate, { cwd: project });
    await run(process.env.GO ?? 'go', ['build', '-mod=readonly', '-o', 'client', '.'], { cwd: project });
    assert.deepEqual(await facts(join(project, 'client')), await want());
  });
});

suite('Prism', () => {
  // Ten routes in all ways they can go; the status is what the server has to respond.
  const requests = [
    [200, 'full', '/readyz'],
    [200, '', '/api/gpu-types'],
    [200, '', '/api/gpu/H100%20SXM'],
    [200, 'premium', '/api/gpu-prices?region=us-east'],
    [200, '', '/api/daily-index?gpuType=H200'],
    [200, '', '/api/day-index'],
    [200, 'full', '/api/gpu/H100%20SXM/index-history?granularity=hourly&limit=3'],
    [200, 'full', '/api/gpu/H100%20SXM/hourly?limit=2&order=desc'],
    [200, 'premium', '/api/memory-index?type=mem_ddr5_16gb'],
    [200, 'premium', '/api/memory-index'],
    [200, '', '/api/otpi?lab=openai'],
    [200, 'full', '/api/neocloud/sites?country=Norway&limit=2'],
    [200, 'full', '/api/gpu/H100%20SXM/determination?date=2026-10-30'],
    [200, 'full', '/api/corrections?limit=2'],
    [200, '', '/api/notices?limit=2'],
    [400, '', '/api/gpu/MI999'],
    [400, '', '/api/daily-index?date=yesterday'],
    [400, 'full', '/api/neocloud/sites'],
    [401, '', '/api/gpu/RTX%20PRO%206000%20WS'],
    [401, '', '/api/gpu/H200/index-history?startDate=2025-01-01'],
    [401, '', '/api/memory-index'],
    [401, 'revoked', '/api/daily-index'],
    [403, 'premium', '/api/gpu/H200/hourly'],
    [403, 'premium', '/api/neocloud/sites?country=Norway'],
    [404, '', '/api/gpu/H200?region=nowhere'],
    [404, 'premium', '/api/memory-index?type=mem_of_tomorrow'],
  ];

  test('sees no response that is not described', async () => {
    const port = await freePort();
    const proxy = `http://127.0.0.1:${port}`;
    await serve(join(tools, 'prism'), ['proxy', description, address, '--port', String(port)], `${proxy}/readyz`);
    for (const [status, caller, path] of requests) {
      const headers = caller ? { Authorization: `Bearer ${keys[caller]}` } : {};
      const response = await fetch(proxy + path, { headers });
      assert.equal(response.status, status, `${path}: ${await response.text()}`);
      assert.deepEqual(violations(response, 'response'), [], `${path} as ${caller || 'anyone'}`);
    }
  });

  test('would see one', async () => {
    const stricter = join(folder, 'stricter.yaml');
    const text = await readFile(description, 'utf8');
    await writeFile(stricter, text.replaceAll(/^( +)required: \[gpu_name, region,/gm, '$1required: [gpu_name, region, missing,'));
    const port = await freePort();
    const proxy = `http://127.0.0.1:${port}`;
    await serve(join(tools, 'prism'), ['proxy', stricter, address, '--port', String(port)], `${proxy}/readyz`);
    const found = violations(await fetch(`${proxy}/api/gpu/H200`), 'response');
    assert.match(JSON.stringify(found), /missing/);
  });
});

/** What the proxy says about a request or its response. */
function violations(response, about) {
  const list = JSON.parse(response.headers.get('sl-violations') ?? '[]');
  return list.filter((one) => one.location[0] === about);
}
