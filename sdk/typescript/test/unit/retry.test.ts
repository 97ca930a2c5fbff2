import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Client } from '@assaydata/client';
import { failure, fakeTimers, json, quickClient, refuse, serve, serveInTurn, signal, text } from '../harness.js';

const done = json({ success: true, data: [] });

describe('retries', () => {
  test('wait exactly as long as the server says', async (t) => {
    const server = await serveInTurn(
      t,
      refuse(429, 'rate_limited', {}, { 'Retry-After': '7' }),
      refuse(503, 'busy', {}, { 'Retry-After': '0' }),
      done,
    );
    const { client, waits } = quickClient(server.url);
    await client.regions();
    assert.deepEqual(waits, [7000, 0]);
    assert.equal(server.requests.length, 3);
  });

  test('back off at random times, each up to twice as long', async (t) => {
    const server = await serve(t, refuse(503, 'busy'));
    const { client, waits } = quickClient(server.url, { maxRetries: 7 });
    await failure(client.regions());
    const most = [500, 1000, 2000, 4000, 8000, 8000, 8000];
    assert.equal(waits.length, most.length);
    waits.forEach((wait, i) => assert.ok(wait >= 0 && wait <= most[i]!, `wait ${i} is ${wait}`));
    assert.ok(new Set(waits).size > 1);
  });

  test('end with the error of the last attempt', async (t) => {
    const server = await serveInTurn(t, refuse(429, 'rate_limited'), refuse(429, 'rate_limited'), refuse(503, 'busy'));
    const error = await failure(quickClient(server.url).client.regions());
    assert.equal(error.code, 'busy');
    assert.equal(server.requests.length, 4);
  });

  test('end at once if the server asks for too much', async (t) => {
    const server = await serve(t, refuse(429, 'rate_limited', {}, { 'Retry-After': '61' }));
    const { client, waits } = quickClient(server.url);
    const error = await failure(client.regions());
    assert.deepEqual([error.kind, error.retryAfter, waits.length], ['too_many', 61, 0]);
  });

  test('wait no longer than maxWait all together', async (t) => {
    const server = await serve(t, refuse(429, 'rate_limited', {}, { 'Retry-After': '25' }));
    const { client, waits } = quickClient(server.url);
    await failure(client.regions());
    assert.deepEqual(waits, [25_000, 25_000]);
  });

  test('do not believe a Retry-After that is no number of seconds', async (t) => {
    const values = ['Wed, 21 Oct 2099 07:28:00 GMT', '-5', '1e9', '99999999999999', ''];
    for (const value of values) {
      const server = await serveInTurn(t, refuse(503, 'busy', {}, { 'Retry-After': value }), done);
      const { client, waits } = quickClient(server.url);
      await client.regions();
      assert.ok(waits.length === 1 && waits[0]! <= 500, `${value}: ${waits[0]}`);
    }
  });

  test('follow connections that fail before the response', async (t) => {
    const server = await serveInTurn(
      t,
      (_, response) => response.destroy(),
      (_, response) => response.destroy(),
      done,
    );
    const { client, waits } = quickClient(server.url);
    await client.regions();
    assert.equal(waits.length, 2);
  });

  test('do not follow other errors', async (t) => {
    for (const status of [400, 401, 403, 404, 409, 500, 502, 504]) {
      const server = await serve(t, refuse(status, 'x', {}, { 'Retry-After': '1' }));
      await failure(quickClient(server.url).client.regions());
      assert.equal(server.requests.length, 1, String(status));
    }
  });

  test('can be switched off', async (t) => {
    const server = await serve(t, refuse(503, 'busy', {}, { 'Retry-After': '1' }));
    await failure(quickClient(server.url, { maxRetries: 0 }).client.regions());
    assert.equal(server.requests.length, 1);
  });

  test('say why a server cannot be reached', async (t) => {
    const server = await serve(t, done);
    const { port } = new URL(server.url);
    const client = quickClient(`http://127.0.0.1:${port === '1' ? 2 : 1}`).client;
    const error = await failure(client.regions());
    assert.deepEqual([error.kind, error.status], ['connection', undefined]);
    assert.match(error.message, /^GET http:\/\/127.0.0.1:\d\/api\/regions failed: /);
    assert.ok(error.cause instanceof Error);
  });
});

describe('a timeout', () => {
  test('ends an attempt without a response, and is not retried', async (t) => {
    const timers = fakeTimers(t);
    const server = await serve(t, () => timers.tick(30_000));
    const error = await failure(quickClient(server.url).client.regions());
    assert.deepEqual([error.kind, error.status], ['timeout', undefined]);
    assert.match(error.message, /took too long/);
    assert.equal(server.requests.length, 1);
  });

  test('ends a body that does not', async (t) => {
    const timers = fakeTimers(t);
    const server = await serve(t, (_, response) => {
      response.writeHead(200, { 'Content-Type': 'application/json' }).write('{');
    });
    const onResponse = () => setImmediate(() => timers.tick(5000));
    const error = await failure(quickClient(server.url, { timeout: 5000, onResponse }).client.regions());
    assert.deepEqual([error.kind, error.status], ['timeout', 200]);
  });

  test('gives the status of an error whose body does not end', async (t) => {
    const timers = fakeTimers(t);
    const server = await serve(t, (_, response) => {
      response.writeHead(500).write('{');
    });
    const onResponse = () => setImmediate(() => timers.tick(30_000));
    const error = await failure(quickClient(server.url, { onResponse }).client.regions());
    assert.deepEqual([error.kind, error.status], ['internal', 500]);
  });

  test('leaves no timer behind', async (t) => {
    const timers = fakeTimers(t);
    const good = await serve(t, done);
    const bad = await serve(t, refuse(500, 'internal'));
    await new Client(good.url).regions();
    await failure(new Client(bad.url).regions());
    await failure(quickClient('http://127.0.0.1:1').client.regions());
    assert.equal(timers.waiting.size, 0);
  });

  test('of Infinity is none', async (t) => {
    const timers = fakeTimers(t);
    const server = await serve(t, (request, response) => {
      assert.equal(timers.waiting.size, 0);
      done(request, response);
    });
    await new Client(server.url, { timeout: Infinity }).regions();
  });
});

describe('an AbortSignal', () => {
  const reason = new Error('no longer wanted');

  test('that is aborted sends nothing', async (t) => {
    const server = await serve(t, done);
    await assert.rejects(new Client(server.url).regions({ signal: AbortSignal.abort(reason) }), reason);
    assert.equal(server.requests.length, 0);
  });

  test('ends a request', async (t) => {
    const arrived = signal();
    const server = await serve(t, () => arrived.fire());
    const controller = new AbortController();
    const promise = new Client(server.url).regions({ signal: controller.signal });
    await arrived.fired;
    controller.abort(reason);
    await assert.rejects(promise, reason);
    assert.equal(server.requests.length, 1);
  });

  test('ends a response', async (t) => {
    const server = await serve(t, (_, response) => {
      response.writeHead(200).write('{');
    });
    const controller = new AbortController();
    const client = new Client(server.url, { onResponse: () => setImmediate(() => controller.abort(reason)) });
    await assert.rejects(client.regions({ signal: controller.signal }), reason);
  });

  test('ends the wait for a retry', async (t) => {
    const server = await serve(t, refuse(503, 'busy', {}, { 'Retry-After': '30' }));
    const controller = new AbortController();
    const client = new Client(server.url, { onResponse: () => setImmediate(() => controller.abort(reason)) });
    await assert.rejects(client.regions({ signal: controller.signal }), reason);
    assert.equal(server.requests.length, 1);
  });

  test('is left when the call ends', async (t) => {
    const server = await serve(t, done);
    const controller = new AbortController();
    const listeners = new Set<unknown>();
    const { signal: watched } = controller;
    const add = watched.addEventListener.bind(watched);
    const remove = watched.removeEventListener.bind(watched);
    let added = 0;
    watched.addEventListener = (...args: Parameters<typeof add>) => {
      added++;
      listeners.add(args[1]);
      add(...args);
    };
    watched.removeEventListener = (...args: Parameters<typeof remove>) => {
      listeners.delete(args[1]);
      remove(...args);
    };
    const client = new Client(server.url);
    await client.regions({ signal: watched });
    const failing = await serve(t, text('', 500));
    await failure(new Client(failing.url).regions({ signal: watched }));
    assert.deepEqual([added, listeners.size], [2, 0]);
  });
});
