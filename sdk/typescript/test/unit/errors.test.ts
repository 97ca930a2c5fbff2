import assert from 'node:assert/strict';
import { createServer, type AddressInfo } from 'node:net';
import { describe, test, type TestContext } from 'node:test';
import { inspect } from 'node:util';
import { Client, type ErrorKind } from '@assaydata/client';
import { failure, json, quickClient, refuse, serve, text } from '../harness.js';

/** A server that sends these bytes for any request, and closes. */
async function rawServer(t: TestContext, bytes: string): Promise<string> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => socket.end(bytes));
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  t.after(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe('an error of the API', () => {
  const f = (status: number, code: string, kind: ErrorKind) =>
    test(`${status} ${code} is ${kind}`, async (t) => {
      const server = await serve(t, refuse(status, code));
      const error = await failure(new Client(server.url, { maxRetries: 0 }).gpuPrice('H200'));
      assert.equal(error.name, 'AssayError');
      assert.deepEqual(
        [error.kind, error.status, error.code, error.message, error.requestId],
        [kind, status, code, `This is ${code}.`, 'r-1'],
      );
    });
  f(400, 'unknown_gpu', 'invalid');
  f(401, 'outside_free_window', 'unauthorized');
  f(403, 'full_required', 'forbidden');
  f(404, 'no_data', 'no_data');
  f(404, 'unknown_region', 'not_found');
  f(405, 'method_not_allowed', 'method_not_allowed');
  f(409, 'history_changed', 'conflict');
  f(413, 'body_too_large', 'too_large');
  f(414, 'uri_too_long', 'uri_too_long');
  f(418, 'a_new_one', 'invalid');
  f(429, 'rate_limited', 'too_many');
  f(500, 'internal', 'internal');
  f(503, 'busy', 'unavailable');
  f(599, 'a_new_one', 'internal');

  test('has what helps to correct the request', async (t) => {
    const more = { param: 'startDate', allowed: ['a', 5, 'b'], free_from: '2026-08-01' };
    const server = await serve(t, refuse(401, 'outside_free_window', more, { 'Retry-After': '7' }));
    const error = await failure(new Client(server.url).gpuPrice('H200'));
    assert.deepEqual(
      [error.param, error.allowed, error.freeFrom, error.retryAfter],
      ['startDate', ['a', 'b'], '2026-08-01', 7],
    );
  });

  test('shows only what is known', async (t) => {
    const server = await serve(t, refuse(403, 'full_required'));
    const shown = inspect(await failure(new Client(server.url).gpuPrice('H200')));
    assert.match(shown, /kind: 'forbidden'/);
    assert.doesNotMatch(shown, /undefined/);
  });

  test('cannot change a terminal', async (t) => {
    const message = `\u001b[2J${'x'.repeat(9000)}`;
    const server = await serve(t, json({ message, code: 'a\u0007b' }, 400));
    const error = await failure(new Client(server.url).gpuPrice('H200'));
    assert.equal(error.message.length, 2000);
    // eslint-disable-next-line no-control-regex
    assert.doesNotMatch(error.message + error.code, /[\u0000-\u001f]/);
  });
});

describe('a response that is not of the API', () => {
  const page = '<html><body>Sign in to the hotel</body></html>';

  test('200 with HTML', async (t) => {
    const server = await serve(t, text(page, 200, { 'Content-Type': 'text/html' }));
    const error = await failure(new Client(server.url).gpuPrice('H200'));
    assert.deepEqual([error.kind, error.status], ['invalid_response', 200]);
    assert.match(error.message, /is not JSON \(status 200, content type text\/html\)/);
    assert.doesNotMatch(inspect(error), /hotel/);
  });

  const status = (code: number, kind: ErrorKind) =>
    test(`${code} with HTML`, async (t) => {
      const server = await serve(t, text(page, code, { 'Content-Type': 'text/html', 'X-Request-Id': 'q-9' }));
      const error = await failure(quickClient(server.url).client.gpuPrice('H200'));
      assert.deepEqual([error.kind, error.status, error.requestId], [kind, code, 'q-9']);
      assert.match(error.message, new RegExp(`has the status ${code}, without an error of the API`));
      assert.doesNotMatch(inspect(error), /hotel/);
    });
  status(404, 'not_found');
  status(418, 'invalid');
  status(502, 'internal');
  status(503, 'unavailable');

  const bad = (name: string, body: string | Uint8Array, message: RegExp) =>
    test(name, async (t) => {
      const server = await serve(t, text(body, 200, { 'Content-Type': 'application/json' }));
      const error = await failure(new Client(server.url).gpuPrice('H200'));
      assert.equal(error.kind, 'invalid_response');
      assert.match(error.message, message);
    });
  bad('an empty body', '', /is not JSON/);
  bad('truncated JSON', '{"success":true,"data":[{"a', /is not JSON/);
  bad('a list', '[]', /is no JSON object/);
  bad('null', 'null', /is no JSON object/);
  bad('bytes that are no text', new Uint8Array([0x7b, 0xff, 0xfe]), /is not UTF-8/);

  test('204', async (t) => {
    const server = await serve(t, text('', 204));
    const error = await failure(new Client(server.url).gpuPrice('H200'));
    assert.deepEqual([error.kind, error.status], ['invalid_response', 204]);
  });

  test('304 that was not asked for', async (t) => {
    const server = await serve(t, text('', 304));
    const error = await failure(new Client(server.url).gpuPrice('H200'));
    assert.deepEqual([error.kind, error.status], ['invalid_response', 304]);
  });

  test('an error body without an end', async (t) => {
    const server = await serve(t, (_, response) => {
      response.writeHead(500);
      const fill = () => {
        while (response.write('x'.repeat(65536)));
      };
      response.on('drain', fill);
      fill();
    });
    const error = await failure(new Client(server.url).gpuPrice('H200'));
    assert.deepEqual([error.kind, error.status], ['internal', 500]);
  });

  test('a body that ends early is no reason to ask again', async (t) => {
    let requests = 0;
    const server = await serve(t, (_, response) => {
      requests++;
      response.writeHead(200, { 'Content-Length': '100' });
      response.write('{"success":');
      setImmediate(() => response.destroy());
    });
    const error = await failure(quickClient(server.url).client.gpuPrice('H200'));
    assert.deepEqual([error.kind, error.status, requests], ['connection', 200, 1]);
  });

  test('something else than HTTP', async (t) => {
    const url = await rawServer(t, 'SSH-2.0-OpenSSH_9.2\r\n');
    const error = await failure(quickClient(url, { maxRetries: 1 }).client.gpuPrice('H200'));
    assert.equal(error.kind, 'connection');
    assert.match(error.message, /GET http:.* failed: /);
  });
});

describe('health', () => {
  test('is no error while the server is not healthy', async (t) => {
    const server = await serve(t, json({ status: 'draining', database: 'connected' }, 503));
    const { waits, client } = quickClient(server.url);
    assert.equal((await client.health()).status, 'draining');
    assert.deepEqual(waits, []);
  });

  test('is one if a proxy responds', async (t) => {
    const server = await serve(t, text('<html>', 503, { 'Content-Type': 'text/html' }));
    const error = await failure(new Client(server.url).health());
    assert.deepEqual([error.kind, error.status], ['unavailable', 503]);
  });
});
