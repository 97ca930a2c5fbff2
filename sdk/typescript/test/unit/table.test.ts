import assert from 'node:assert/strict';
import type { RequestListener } from 'node:http';
import { describe, test } from 'node:test';
import { Client } from '@assaydata/client';
import { failure, fakeTimers, quickClient, refuse, serve, serveInTurn, signal, text } from '../harness.js';

const csv = (disposition?: string): RequestListener =>
  text('a,b\r\n1,é\r\n', 200, {
    'Content-Type': 'text/csv; charset=utf-8; header=present',
    ...(disposition ? { 'Content-Disposition': disposition } : {}),
  });

describe('table', () => {
  test('requests a route as the method of the same name does', async (t) => {
    const server = await serve(t, csv('attachment; filename="h200.csv"'));
    const client = new Client(server.url);
    const table = await client.table('indexHistory', 'csv', 'H100 SXM', { startDate: '2026-10-01', limit: 2 });
    assert.equal(await table.text(), 'a,b\r\n1,é\r\n');
    assert.deepEqual([table.filename, table.contentType.split(';')[0]], ['h200.csv', 'text/csv']);
    const { url, headers } = server.requests[0]!;
    assert.equal(url, '/api/gpu/H100%20SXM/index-history?startDate=2026-10-01&limit=2&format=csv');
    assert.equal(headers.accept, 'text/csv');
    await (await client.table('gpuPrices', 'csv')).text();
    assert.equal(server.requests[1]?.url, '/api/gpu-prices?format=csv');
  });

  test('gives bytes as they are', async (t) => {
    const bytes = new Uint8Array([0x50, 0x41, 0x52, 0x31, 0, 0xff]);
    const server = await serve(t, text(bytes, 200, { 'Content-Type': 'application/vnd.apache.parquet' }));
    const table = await new Client(server.url).table('gpuPrices', 'parquet');
    assert.deepEqual(await table.bytes(), bytes);
  });

  describe('takes a file name only if it is one', () => {
    const f = (disposition: string | undefined, want: string) =>
      test(String(disposition), async (t) => {
        const server = await serve(t, csv(disposition));
        const table = await new Client(server.url).table('gpuPrices', 'csv');
        await table.body.cancel();
        assert.equal(table.filename, want);
      });
    f('attachment; filename="a b-1.csv"', 'a b-1.csv');
    f('attachment; filename=a.csv', 'a.csv');
    f('attachment; filename="../../etc/passwd"', 'table.csv');
    f('attachment; filename="C:\\x.csv"', 'table.csv');
    f('attachment; filename=".bashrc"', 'table.csv');
    f('attachment; filename=""', 'table.csv');
    f(undefined, 'table.csv');
  });

  test('reads no more than is asked for', async (t) => {
    let sent = 0;
    const server = await serve(t, (_, response) => {
      response.writeHead(200, { 'Content-Type': 'application/x-ndjson' });
      const fill = () => {
        while (sent < 1e9 && response.write('x'.repeat(65536))) sent += 65536;
      };
      response.on('drain', fill);
      fill();
    });
    const table = await new Client(server.url).table('gpuPrices', 'ndjson');
    const reader = table.body.getReader();
    await reader.read();
    await reader.cancel();
    assert.ok(sent < 50e6, `${sent} bytes`);
  });

  test('ends when the server pauses for too long', async (t) => {
    const server = await serve(t, (_, response) => {
      response.writeHead(200, { 'Content-Type': 'text/csv' }).write('a\r\n');
    });
    const timers = fakeTimers(t);
    const table = await new Client(server.url).table('gpuPrices', 'csv');
    timers.tick(29_999); // to the first read it has the time of the attempt
    const reader = table.body.getReader();
    await reader.read();
    timers.tick(60_000); // the reader's own pause does not count
    const second = failure(reader.read());
    setImmediate(() => timers.tick(30_000));
    const error = await second;
    assert.deepEqual([error.kind, error.status], ['timeout', 200]);
  });

  test('ends with the signal', async (t) => {
    const server = await serve(t, (_, response) => {
      response.writeHead(200, { 'Content-Type': 'text/csv' }).write('a\r\n');
    });
    const controller = new AbortController();
    const table = await new Client(server.url).table('gpuPrices', 'csv', { signal: controller.signal });
    const reader = table.body.getReader();
    await reader.read();
    controller.abort(new Error('enough'));
    await assert.rejects(reader.read(), /enough/);
  });

  test('gives the connection back when it is left', async (t) => {
    const timers = fakeTimers(t); // otherwise the time limit would end the connection too
    const closed = signal();
    const server = await serve(t, (_, response) => {
      response.on('close', closed.fire);
      response.writeHead(200, { 'Content-Type': 'text/csv' }).write('a\r\n');
    });
    const table = await new Client(server.url).table('gpuPrices', 'csv');
    await table.body.cancel();
    assert.equal(timers.waiting.size, 0);
    await closed.fired;
  });

  test('is not cut short by a connection that ends', async (t) => {
    const server = await serve(t, (_, response) => {
      response.writeHead(200, { 'Content-Type': 'text/csv', 'Content-Length': '10' }).write('a\r\n');
      setImmediate(() => response.destroy());
    });
    const table = await new Client(server.url).table('gpuPrices', 'csv');
    assert.equal((await failure(table.text())).kind, 'connection');
  });

  test('throws errors of the API, and retries', async (t) => {
    const server = await serveInTurn(t, refuse(503, 'busy'), refuse(401, 'key_required'));
    const error = await failure(quickClient(server.url).client.table('workload', 'csv'));
    assert.deepEqual([error.kind, server.requests.length], ['unauthorized', 2]);
  });

  test('refuses another type than it asked for', async (t) => {
    const server = await serve(t, text('<html>', 200, { 'Content-Type': 'text/html' }));
    const error = await failure(new Client(server.url).table('gpuPrices', 'csv'));
    assert.equal(error.kind, 'invalid_response');
    assert.match(error.message, /is not text\/csv \(status 200, content type text\/html\)/);
  });

  describe('refuses', () => {
    const client = new Client('http://127.0.0.1:1', { maxRetries: 0 });
    const f = (name: string, args: unknown[], message: RegExp) =>
      test(name, async () => {
        const call = client.table.bind(client) as unknown as (...args: unknown[]) => Promise<unknown>;
        const error = await failure(call(...args));
        assert.equal(error.kind, 'invalid');
        assert.match(error.message, message);
      });
    f('an unknown format', ['gpuPrices', 'xlsx'], /csv, ndjson or parquet/);
    f('a route without rows', ['health', 'csv'], /Only the methods that return rows/);
    f('a name that is no route', ['constructor', 'csv'], /Only the methods that return rows/);
    f('an option of another route', ['gpuPrices', 'csv', { limit: 5 }], /gpuPrices has no option "limit"/);
    f('a missing name', ['gpuPrice', 'csv'], /gpuName must be a string/);
    f('another format among the options', ['gpuPrices', 'csv', { format: 'json' }], /gpuPrices has no option "format"/);
  });
});
