import assert from 'node:assert/strict';
import type { RequestListener, ServerResponse } from 'node:http';
import { describe, test } from 'node:test';
import type { Client, StreamEvent, StreamOptions } from '@assaydata/client';
import { failure, fakeTimers, json, key, quickClient, refuse, serve, serveInTurn, signal, text } from '../harness.js';

/** An event as the server writes it. */
const event = (id: string, name: string, data: object) =>
  `id: ${id}\nevent: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
const hello = event('7-0', 'hello', { success: true, access: 'full', version: 7, heartbeat_seconds: 15 });
const hour = (id: string) => event(id, 'hour', { family: 'gpu', gpu_type: 'H100 SXM', index_value: 1.9 });
const bye = (reason: string) => event('9-0', 'bye', { reason, message: 'Bye.' });

const open = (response: ServerResponse): ServerResponse =>
  response.writeHead(200, { 'Content-Type': 'text/event-stream; charset=utf-8' });

/** A connection that sends this and ends. */
const sends =
  (...parts: string[]): RequestListener =>
  (_, response) =>
    open(response).end(parts.join(''));

/** A connection that sends this and stays open. */
const stays =
  (...parts: string[]): RequestListener =>
  (_, response) =>
    void open(response).write(parts.join(''));

/** Reads a stream until it has had so many events. */
async function take(client: Client, count: number, options: StreamOptions = {}): Promise<StreamEvent[]> {
  const events: StreamEvent[] = [];
  for await (const one of client.stream(options)) {
    events.push(one);
    if (events.length === count) break;
  }
  return events;
}

const names = (events: StreamEvent[]) => events.map(({ event }) => event).join(' ');
const lastId = (url: string | undefined) => new URL(url ?? '', 'http://x').searchParams.get('last_event_id');

describe('stream', () => {
  test('yields events', async (t) => {
    const server = await serve(t, stays(hello, ': heartbeat\n\n', hour('7-1')));
    const [first, second] = await take(quickClient(server.url, { key }).client, 2);
    assert.deepEqual(first, {
      event: 'hello',
      id: '7-0',
      data: { success: true, access: 'full', version: 7, heartbeat_seconds: 15 },
    });
    assert.deepEqual(second, {
      event: 'hour',
      id: '7-1',
      data: { family: 'gpu', gpu_type: 'H100 SXM', index_value: 1.9 },
    });
    const { url, headers } = server.requests[0]!;
    assert.deepEqual(
      [url, headers.accept, headers.authorization],
      ['/api/stream', 'text/event-stream', `Bearer ${key}`],
    );
  });

  test('sends filters', async (t) => {
    const server = await serve(t, stays(hello));
    const { client } = quickClient(server.url);
    await take(client, 1, {
      event: ['hour', 'day'],
      family: 'gpu',
      gpu: ['H100 SXM'],
      region: 'global',
      lastEventId: '5-1',
    });
    assert.equal(
      server.requests[0]?.url,
      '/api/stream?event=hour%2Cday&family=gpu&gpu=H100%20SXM&region=global&last_event_id=5-1',
    );
  });

  test('refuses options that it does not know, and filters that are empty', async () => {
    const { client } = quickClient('http://127.0.0.1:1');
    assert.match(
      (await failure(take(client, 1, { events: 'hour' } as object))).message,
      /stream has no option "events"/,
    );
    assert.match((await failure(take(client, 1, { gpu: [] }))).message, /gpu must not be an empty list/);
  });

  test('gives events with new names through', async (t) => {
    const server = await serve(t, stays(event('1-1', 'eclipse', { moon: true })));
    const [first] = await take(quickClient(server.url).client, 1);
    assert.deepEqual(first, { event: 'eclipse', id: '1-1', data: { moon: true } });
  });

  test('closes the connection when the loop ends', async (t) => {
    const closed = signal();
    const server = await serve(t, (_, response) => {
      response.on('close', closed.fire);
      open(response).write(hello);
    });
    await take(quickClient(server.url).client, 1);
    await closed.fired;
  });

  describe('connects again after', () => {
    const f = (name: string, first: RequestListener, want: string, wantId: string | null) =>
      test(name, async (t) => {
        const server = await serveInTurn(t, first, stays(hello, hour('8-1')));
        const { client, waits } = quickClient(server.url);
        const events = await take(client, want.split(' ').length);
        assert.equal(names(events), want);
        assert.equal(lastId(server.requests[1]?.url), wantId);
        assert.ok(waits.length === 1 && waits[0]! <= 1000, String(waits));
      });
    f('the end of the response', sends(hello, hour('7-1')), 'hello hour hello hour', '7-1');
    f('bye shutdown', stays(hello, hour('7-1'), bye('shutdown')), 'hello hour bye hello hour', '9-0');
    f('bye slow_reader', stays(hello, bye('slow_reader')), 'hello bye hello hour', '9-0');
    f('bye lifetime', stays(hello, bye('lifetime')), 'hello bye hello hour', '9-0');
    f('a reason that it does not know', stays(hello, bye('eclipse')), 'hello bye hello hour', '9-0');
    f(
      'a connection that breaks',
      (_, response) => {
        open(response).write(hello + hour('7-1') + 'data: {"half":');
        setImmediate(() => response.destroy());
      },
      'hello hour hello hour',
      '7-1',
    );
    f('events without an id', sends('event: hour\ndata: {}\n\n'), 'hour hello hour', null);
  });

  test('continues after the last event, not the one before', async (t) => {
    const server = await serveInTurn(t, sends(hello, hour('7-1')), sends(hello, hour('7-2')), stays(hello));
    await take(quickClient(server.url).client, 5);
    assert.deepEqual(
      server.requests.map(({ url }) => lastId(url)),
      [null, '7-1', '7-2'],
    );
  });

  test('shows a gap', async (t) => {
    const gap = { reason: 'too_old', catch_up: '/api/corrections?since=x' };
    const server = await serve(t, stays(event('9-0', 'gap', gap), hour('9-1')));
    const events = await take(quickClient(server.url).client, 2, { lastEventId: '1-1' });
    assert.deepEqual(events[0], { event: 'gap', id: '9-0', data: gap });
  });

  test('ends when the key is revoked', async (t) => {
    const server = await serve(t, stays(hello, bye('key_revoked')));
    assert.equal(names(await take(quickClient(server.url).client, 99)), 'hello bye');
    assert.equal(server.requests.length, 1);
  });

  describe('ends when a later connection is refused with', () => {
    const f = (status: number, code: string) =>
      test(`${status}`, async (t) => {
        const server = await serveInTurn(t, sends(hello), refuse(status, code));
        const error = await failure(take(quickClient(server.url).client, 99));
        assert.deepEqual([error.status, error.code, server.requests.length], [status, code, 2]);
      });
    f(400, 'invalid_parameter');
    f(401, 'invalid_key');
    f(403, 'full_required');
    f(404, 'unknown_path');
  });

  test('backs off while later connections fail', async (t) => {
    const failing = [500, 502, 503, 429].map((status) => text('', status));
    const broken: RequestListener = (_, response) => response.destroy();
    const server = await serveInTurn(t, sends(hello, hour('7-1')), ...failing, broken, broken, broken, stays(hello));
    const { client, waits } = quickClient(server.url);
    assert.equal(names(await take(client, 3)), 'hello hour hello');
    const most = [1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000];
    assert.equal(waits.length, most.length);
    waits.forEach((wait, i) => assert.ok(wait <= most[i]!, `wait ${i} is ${wait}`));
    assert.deepEqual(new Set(server.requests.slice(1).map(({ url }) => lastId(url))), new Set(['7-1']));
  });

  test('backs off while connections bring nothing but hello', async (t) => {
    const server = await serve(t, sends(hello));
    const { client, waits } = quickClient(server.url);
    await take(client, 40);
    assert.ok(Math.max(...waits) > 2000, String(waits));
  });

  test('starts again at the shortest wait after a heartbeat', async (t) => {
    const server = await serve(t, sends(hello, ': heartbeat\n\n'));
    const { client, waits } = quickClient(server.url);
    await take(client, 40);
    assert.ok(Math.max(...waits) <= 1000, String(waits));
  });

  test('waits as long as the server says', async (t) => {
    const server = await serveInTurn(
      t,
      sends('retry: 20\n\n', hello, ': heartbeat\n\n'),
      refuse(429, 'too_many_streams', {}, { 'Retry-After': '9' }),
      stays(hello),
    );
    const { client, waits } = quickClient(server.url);
    await take(client, 2);
    assert.ok(waits[0]! <= 100, 'a shorter time than the shortest one');
    assert.equal(waits[1], 9000);
  });

  test('ends if the server says to wait for too long', async (t) => {
    const server = await serveInTurn(t, sends(hello), refuse(429, 'too_many_streams', {}, { 'Retry-After': '61' }));
    assert.equal((await failure(take(quickClient(server.url).client, 9))).retryAfter, 61);
  });

  describe('throws when the first connection', () => {
    const f = (name: string, listener: RequestListener, kind: string, requests: number) =>
      test(name, async (t) => {
        const server = await serve(t, listener);
        const error = await failure(take(quickClient(server.url).client, 9));
        assert.deepEqual([error.kind, server.requests.length], [kind, requests]);
      });
    f('is refused', refuse(401, 'invalid_key'), 'unauthorized', 1);
    f('is refused for now, after the usual retries', refuse(503, 'busy'), 'unavailable', 4);
    f('fails, after the usual retries', (_, response) => response.destroy(), 'connection', 4);
    f('is redirected', text('', 302, { Location: '/' }), 'redirect', 1);
    f('responds with JSON', json({ success: true }), 'invalid_response', 1);
    f('responds with a page', text('<html>', 200, { 'Content-Type': 'text/html' }), 'invalid_response', 1);
    f('sends data that is no JSON', stays('data: hi\n\n'), 'invalid_response', 1);
    f('sends data that is no object', stays('data: [1]\n\n'), 'invalid_response', 1);
    f('sends an event without an end', stays('data: ' + 'x'.repeat(1100 * 1024)), 'invalid_response', 1);
  });

  describe('ends with the signal', () => {
    const reason = new Error('enough');

    test('before it begins', async (t) => {
      const server = await serve(t, stays(hello));
      await assert.rejects(take(quickClient(server.url).client, 1, { signal: AbortSignal.abort(reason) }), reason);
      assert.equal(server.requests.length, 0);
    });

    test('while it waits for events', async (t) => {
      const server = await serve(t, stays(hello));
      const controller = new AbortController();
      const stream = quickClient(server.url).client.stream({ signal: controller.signal });
      await stream.next();
      const next = stream.next();
      setImmediate(() => controller.abort(reason));
      await assert.rejects(next, reason);
    });

    test('while it waits to connect again', async (t) => {
      const server = await serve(t, sends(hello));
      const controller = new AbortController();
      const sleep = async (_: number, signal?: AbortSignal) => {
        controller.abort(reason);
        signal?.throwIfAborted();
      };
      await assert.rejects(take(quickClient(server.url, { sleep }).client, 9, { signal: controller.signal }), reason);
      assert.equal(server.requests.length, 1);
    });
  });

  describe('connects again when the server is silent', () => {
    const f = (name: string, said: string, tooShort: number, enough: number) =>
      test(name, async (t) => {
        const timers = fakeTimers(t);
        const server = await serveInTurn(t, stays(said), stays(hello, hour('8-1')));
        const { client, waits } = quickClient(server.url, { timeout: 10_000 });
        const stream = client.stream();
        await stream.next();
        const next = stream.next();
        setImmediate(() => {
          timers.tick(tooShort);
          assert.equal(server.requests.length, 1);
          timers.tick(enough - tooShort);
        });
        assert.equal((await next).value?.event, 'hello');
        assert.deepEqual([server.requests.length, waits.length], [2, 1]);
        await stream.return();
      });
    f('for three heartbeats', hello, 44_999, 45_000);
    f('for the timeout, if the server does not say how often it sends one', event('1', 'hello', {}), 9999, 10_000);
    f('also if it says nonsense', event('1', 'hello', { heartbeat_seconds: -5 }), 9999, 10_000);
  });

  test('does not count the time that the reader takes', async (t) => {
    const timers = fakeTimers(t);
    const server = await serve(t, stays(hello, hour('7-1'), hour('7-2')));
    const stream = quickClient(server.url).client.stream();
    for (const want of ['hello', 'hour', 'hour']) {
      assert.equal((await stream.next()).value?.event, want);
      timers.tick(1_000_000);
    }
    await stream.return();
    assert.equal(server.requests.length, 1);
  });
});
