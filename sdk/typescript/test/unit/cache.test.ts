import assert from 'node:assert/strict';
import type { RequestListener } from 'node:http';
import { describe, test } from 'node:test';
import { Client, type CacheLimits } from '@assaydata/client';
import { failure, json, serve, serveInTurn, text } from '../harness.js';

/** Responds 304 to a request that has the tag of its path. */
const tagged: RequestListener = (request, response) => {
  const etag = `"${request.url}"`;
  if (request.headers['if-none-match'] === etag) {
    response.writeHead(304, { ETag: etag }).end();
    return;
  }
  response
    .writeHead(200, { ETag: etag, 'Content-Type': 'application/json' })
    .end(JSON.stringify({ data: [request.url] }));
};

/** The tags that were sent for requests of GPU models in turn. */
async function sentTags(
  client: Client,
  requests: { headers: { 'if-none-match'?: string | undefined } }[],
  names: string[],
) {
  for (const name of names) await client.gpuPrice(name);
  return requests.map(({ headers }) => (headers['if-none-match'] ? 'tag' : 'none')).join(' ');
}

describe('cache', () => {
  test('is off by default', async (t) => {
    const server = await serve(t, tagged);
    assert.equal(await sentTags(new Client(server.url), server.requests, ['a', 'a']), 'none none');
  });

  test('gives the stored response for 304', async (t) => {
    const server = await serve(t, tagged);
    const statuses: number[] = [];
    const client = new Client(server.url, { cache: true, onResponse: ({ status }) => statuses.push(status) });
    const first = await client.gpuPrice('a');
    (first as { data: unknown }).data = 'changed by the caller';
    assert.deepEqual(await client.gpuPrice('a'), { data: ['/api/gpu/a'] });
    assert.deepEqual(statuses, [200, 304]);
  });

  test('takes the new response when there is one', async (t) => {
    const server = await serveInTurn(
      t,
      json({ data: 1 }, 200, { ETag: '"1"' }),
      json({ data: 2 }, 200, { ETag: '"2"' }),
      text('', 304),
    );
    const client = new Client(server.url, { cache: true });
    await client.regions();
    await client.regions();
    assert.deepEqual(await client.regions(), { data: 2 });
    assert.deepEqual(
      server.requests.map(({ headers }) => headers['if-none-match']),
      [undefined, '"1"', '"2"'],
    );
  });

  test('forgets a response whose successor has no tag', async (t) => {
    const server = await serveInTurn(t, json({ data: 1 }, 200, { ETag: '"1"' }), json({ data: 2 }));
    const client = new Client(server.url, { cache: true });
    for (let i = 0; i < 3; i++) await client.regions();
    assert.deepEqual(
      server.requests.map(({ headers }) => headers['if-none-match']),
      [undefined, '"1"', undefined],
    );
  });

  test('does not keep what is no JSON', async (t) => {
    const server = await serve(t, text('<html>', 200, { ETag: '"1"' }));
    const client = new Client(server.url, { cache: true });
    await failure(client.regions());
    await failure(client.regions());
    assert.equal(server.requests[1]?.headers['if-none-match'], undefined);
  });

  test('does not keep errors', async (t) => {
    const server = await serve(t, json({ message: 'x', code: 'x' }, 404, { ETag: '"1"' }));
    const client = new Client(server.url, { cache: true });
    await failure(client.regions());
    await failure(client.regions());
    assert.equal(server.requests[1]?.headers['if-none-match'], undefined);
  });

  test('belongs to one client, and so to one key', async (t) => {
    const server = await serve(t, tagged);
    await new Client(server.url, { cache: true, key: 'sk_prem_a' }).gpuPrice('a');
    await new Client(server.url, { cache: true, key: 'sk_prem_b' }).gpuPrice('a');
    assert.equal(server.requests[1]?.headers['if-none-match'], undefined);
  });

  test('tells queries apart', async (t) => {
    const server = await serve(t, tagged);
    const client = new Client(server.url, { cache: true });
    await client.gpuPrice('a', { region: 'us-east' });
    await client.gpuPrice('a', { region: 'us-west' });
    assert.equal(server.requests[1]?.headers['if-none-match'], undefined);
  });

  const f = (name: string, cache: CacheLimits, names: string[], want: string) =>
    test(name, async (t) => {
      const server = await serve(t, tagged);
      assert.equal(await sentTags(new Client(server.url, { cache }), server.requests, names), want);
    });
  f(
    'drops the response that was not used for longest',
    { entries: 2 },
    ['a', 'b', 'a', 'c', 'a', 'b'],
    'none none tag none tag none',
  );
  f('keeps to its bytes', { bytes: 50 }, ['a', 'b', 'a', 'b', 'c', 'a'], 'none none tag tag none none');
  f('does not keep what is larger than all of it', { bytes: 10 }, ['a', 'a'], 'none none');
});
