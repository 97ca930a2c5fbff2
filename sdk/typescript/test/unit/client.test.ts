import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { inspect } from 'node:util';
import { Client, toDate, version } from '@assaydata/client';
import { failure, json, key, serve, text } from '../harness.js';

const price = json({ success: true, access: 'full', data: { gpu_name: 'H100 SXM', index_value: 2 } });

describe('client', () => {
  describe('refuses an address', () => {
    const f = (name: string, url: string, message: RegExp) =>
      test(name, () => {
        assert.throws(() => new Client(url), { name: 'AssayError', kind: 'invalid', param: 'url', message });
      });
    f('that is no URL', 'data.example.com', /is not a URL/);
    f('of another protocol', 'ftp://data.example.com', /must begin with https/);
    f('with a user', 'https://me@data.example.com', /user name or password/);
    f('with a password', 'https://:secret@data.example.com', /user name or password/);
    f('with a query', 'https://data.example.com/?key=1', /query or a fragment/);
    f('with an empty query', 'https://data.example.com/?', /query or a fragment/);
    f('with a fragment', 'https://data.example.com/#top', /query or a fragment/);

    test('without repeating its secrets', () => {
      for (const url of [
        'https://u:hunter2@x.example',
        'ftp://u:hunter2@x.example',
        'u:hunter2@',
        'https://x/?k=hunter2',
      ]) {
        assert.throws(
          () => new Client(url),
          (error) => !inspect(error).includes('hunter2'),
        );
      }
    });
  });

  test('keeps a folder in the address', async (t) => {
    const server = await serve(t, price);
    await new Client(`${server.url}/data/v1//`).gpuPrice('H200');
    assert.equal(server.requests[0]?.url, '/data/v1/api/gpu/H200');
    assert.equal(new Client(new URL('https://data.example.com/')).url, 'https://data.example.com');
  });

  test('takes address and key from the environment', async (t) => {
    const server = await serve(t, price);
    process.env['ASSAY_URL'] = server.url;
    process.env['ASSAY_KEY'] = key;
    t.after(() => {
      delete process.env['ASSAY_URL'];
      delete process.env['ASSAY_KEY'];
    });
    await new Client().gpuPrice('H200');
    await new Client(undefined, { key: 'sk_prem_other' }).gpuPrice('H200');
    await new Client(undefined, { key: '' }).gpuPrice('H200');
    const sent = server.requests.map((request) => request.headers.authorization);
    assert.deepEqual(sent, [`Bearer ${key}`, 'Bearer sk_prem_other', undefined]);
  });

  test('says that the address is missing', () => {
    assert.throws(() => new Client(), { kind: 'invalid', param: 'url', message: /set ASSAY_URL/ });
  });

  describe('refuses a key', () => {
    const f = (name: string, bad: unknown) =>
      test(name, () => {
        assert.throws(
          () => new Client('http://x', { key: bad as string }),
          (error) => inspect(error).includes('key') && !inspect(error).includes('hunter2'),
        );
      });
    f('with a line end', 'hunter2\n');
    f('with a space', 'hunter2 hunter2');
    f('with a control character', 'hunter2\u0000');
    f('with a character outside of ASCII', 'hunter2é');
    f('that is no text', 42);
  });

  describe('refuses an option', () => {
    const f = (name: string, options: object, message: RegExp) =>
      test(name, () => assert.throws(() => new Client('http://x', options), { kind: 'invalid', message }));
    f('that it does not know', { apiKey: 'x' }, /no option "apiKey".*There are key, timeout/);
    f('timeout 0', { timeout: 0 }, /timeout must be a number from 1/);
    f('a timeout that timers cannot take', { timeout: 2 ** 31 }, /timeout must be/);
    f('a timeout that is NaN', { timeout: NaN }, /timeout must be/);
    f('a negative number of retries', { maxRetries: -1 }, /maxRetries must be/);
    f('maxWait without an end', { maxWait: Infinity }, /maxWait must be/);
    f('an empty cache', { cache: { entries: 0 } }, /cache.entries must be/);

    test('but takes Infinity for no limit', () => assert.ok(new Client('http://x', { timeout: Infinity })));
  });

  test('sends what it is, what it wants, and the key', async (t) => {
    const server = await serve(t, price);
    await new Client(server.url, { key }).gpuPrice('H200');
    const { headers, method } = server.requests[0]!;
    assert.equal(method, 'GET');
    assert.equal(headers['user-agent'], `assay-typescript/${version}`);
    assert.equal(headers.accept, 'application/json');
    assert.equal(headers.authorization, `Bearer ${key}`);
  });

  test('leaves the User-Agent to browsers', async (t) => {
    const server = await serve(t, price);
    Object.defineProperty(globalThis, 'navigator', { value: { userAgent: 'Mozilla/5.0' }, configurable: true });
    t.after(() => Reflect.deleteProperty(globalThis, 'navigator'));
    await new Client(server.url).gpuPrice('H200');
    assert.doesNotMatch(server.requests[0]?.headers['user-agent'] ?? '', /assay/);
  });

  test('shows the key nowhere', async (t) => {
    const echo = await serve(t, (request, response) => {
      const body = {
        message: `Bad ${request.headers.authorization}`,
        code: key,
        request_id: key,
        param: key,
        allowed: [key],
      };
      response.writeHead(400, { 'Content-Type': `x/${key}` }).end(JSON.stringify(body));
    });
    const client = new Client(echo.url, { key, cache: true });
    const html = await serve(t, text('<html>', 200, { 'Content-Type': `text/html; for=${key}` }));
    const throwing = new Client('http://x', {
      key,
      maxRetries: 0,
      fetch: () => Promise.reject(new Error(`no ${key}`)),
    });
    const shown = [
      inspect(client, { showHidden: true, depth: 9 }),
      JSON.stringify(client),
      String(client),
      JSON.stringify(Object.getOwnPropertyDescriptors(client)),
      inspect(await failure(client.gpuPrice('H200')), { showHidden: true }),
      inspect(await failure(new Client(html.url, { key }).gpuPrice('H200')), { showHidden: true }),
      (await failure(throwing.gpuPrice('H200'))).message,
    ];
    for (const one of shown) assert.ok(!one.includes('4fQz8K'), one);
    assert.match(shown[4]!, /Bad Bearer \[key\]/);
  });

  describe('encodes a name once', () => {
    const f = (name: string, want: string) =>
      test(JSON.stringify(name), async (t) => {
        const server = await serve(t, price);
        await new Client(server.url).gpuPrice(name);
        assert.equal(server.requests[0]?.url, want);
      });
    f('H100 SXM', '/api/gpu/H100%20SXM');
    f('RTX 6000 Ada/48', '/api/gpu/RTX%206000%20Ada%2F48');
    f('a?b#c&d', '/api/gpu/a%3Fb%23c%26d');
    f('%20', '/api/gpu/%2520');
    f('...', '/api/gpu/...');
    f('../../log', '/api/gpu/..%2F..%2Flog');
    f('é😀', '/api/gpu/%C3%A9%F0%9F%98%80');
  });

  describe('refuses a name', () => {
    const f = (name: unknown, message: RegExp) =>
      test(String(name), async () => {
        const client = new Client('http://127.0.0.1:1', { maxRetries: 0 });
        const error = await failure(client.gpuPrice(name as string));
        assert.equal(error.kind, 'invalid');
        assert.equal(error.param, 'gpuName');
        assert.equal(error.status, undefined);
        assert.match(error.message, message);
      });
    f('', /must not be empty/);
    f('.', /cannot be "."/);
    f('..', /cannot be ".."/);
    f('\ud800', /surrogate/);
    f(undefined, /must be a string, not undefined/);
    f(5, /must be a string, not 5/);
  });

  test('sends options under the names of the API', async (t) => {
    const server = await serve(t, json({ success: true, data: [] }));
    const client = new Client(server.url);
    await client.indexHistory('H100 SXM', {
      startDate: new Date('2026-10-01T00:00:00+02:00'),
      endDate: '2026-10-31 20:00:00+00:00',
      asOf: '2026-11-01',
      region: '',
      limit: 5,
      order: undefined,
    });
    await client.sites({ lat: 0.0000001, lng: -10, radiusKm: 1.5, gpuType: 'B200', asOf: '2026-11-01' });
    await client.sitesMap({ bbox: [170, -50, -170, 0] });
    await client.volumeMetrics('H200', { partial: false });
    assert.deepEqual(
      server.requests.map((request) => request.url),
      [
        '/api/gpu/H100%20SXM/index-history?startDate=2026-09-30T22%3A00%3A00.000Z&endDate=2026-10-31%2020%3A00%3A00%2B00%3A00&as_of=2026-11-01&region=&limit=5',
        '/api/neocloud/sites?lat=0.000000100000&lng=-10&radius_km=1.5&gpu_type=B200&as_of=2026-11-01',
        '/api/neocloud/map?bbox=170%2C-50%2C-170%2C0',
        '/api/gpu/H200/volume-metrics?partial=false',
      ],
    );
  });

  describe('refuses a value', () => {
    const f = (name: string, options: object, message: RegExp) =>
      test(name, async () => {
        const error = await failure(new Client('http://127.0.0.1:1', { maxRetries: 0 }).dailyIndex(options));
        assert.equal(error.kind, 'invalid');
        assert.match(error.message, message);
      });
    f(
      'of an unknown option',
      { gpu_type: 'H200' },
      /dailyIndex has no option "gpu_type". It has gpuType, date, region/,
    );
    f('of an option of all objects', { toString: 'x' }, /no option "toString"/);
    f('that is empty, which the server would ignore', { gpuType: '' }, /gpuType must not be an empty string/);
    f('that is no day', { date: new Date(NaN) }, /date must not be an invalid date/);
    f('that is NaN', { date: NaN }, /date must not be NaN/);
    f('that is an object', { date: {} }, /date must not be an object/);
    f('that is an empty list', { gpuType: [] }, /gpuType must not be an empty list/);
    f('with half of a character', { gpuType: '\udc00' }, /surrogate/);
  });

  test('does not follow redirects', async (t) => {
    const other = await serve(t, price);
    const server = await serve(t, text('', 302, { Location: `${other.url}/api/gpu/H200` }));
    const error = await failure(new Client(server.url, { key }).gpuPrice('H200'));
    assert.equal(error.kind, 'redirect');
    assert.equal(error.status, 302);
    assert.equal(other.requests.length, 0);
    assert.equal(server.requests.length, 1);
  });

  test('recognizes a redirect that a browser hides', async () => {
    const opaque = { type: 'opaqueredirect', status: 0, headers: new Headers(), body: null } as unknown as Response;
    const client = new Client('http://x', { fetch: () => Promise.resolve(opaque) });
    const error = await failure(client.gpuPrice('H200'));
    assert.deepEqual([error.kind, error.status], ['redirect', undefined]);
  });

  test('tells the caller about each response', async (t) => {
    const server = await serve(t, json({ data: [] }, 200, { 'X-Assay-Synthetic': 'true' }));
    const seen: unknown[] = [];
    const client = new Client(server.url, {
      onResponse: ({ url, status, headers, attempt }) =>
        seen.push([url, status, headers.get('x-assay-synthetic'), attempt]),
    });
    await client.regions();
    assert.deepEqual(seen, [[`${server.url}/api/regions`, 200, 'true', 1]]);
  });

  test('gives unknown fields and words through', async (t) => {
    const body = { success: true, access: 'diamond', more: { a: 1 }, data: { gpu_name: 'X900', color: 'red' } };
    const server = await serve(t, json(body));
    assert.deepEqual(await new Client(server.url).gpuPrice('X900'), body);
  });

  test('has the version of the package', () => {
    const { version: packaged } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
    assert.equal(version, packaged);
  });

  describe('toDate', () => {
    const f = (input: string, want: string | undefined) =>
      test(input, () => {
        if (want) assert.equal(toDate(input).toISOString(), want);
        else assert.throws(() => toDate(input), { name: 'AssayError', kind: 'invalid' });
      });
    f('2026-10-31', '2026-10-31T00:00:00.000Z');
    f('2026-10-31T20:00:00.000Z', '2026-10-31T20:00:00.000Z');
    f('2026-10-31T20:00:00+02:00', '2026-10-31T18:00:00.000Z');
    f('2026-02-30', undefined);
    f('2026-02-30T00:00:00Z', undefined);
    f('2026-10-31T20:00:00', undefined);
    f('31 October 2026', undefined);
    f('', undefined);
  });
});
