// What the tests share: real HTTP servers that respond as a test says, and a clock that does not wait.
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import { clock } from '../dist/clock.js';
import { AssayError, Client, type ClientOptions } from '@assaydata/client';

export const key = 'sk_live_4fQz8KabcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUV';

/** A server of one test. */
export interface Server {
  url: string;
  requests: IncomingMessage[];
}

/** Starts a server that ends with the test. */
export async function serve(t: TestContext, listener: RequestListener): Promise<Server> {
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    requests.push(request);
    listener(request, response);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests };
}

/** Starts a server that gives one response after the other, and the last one again and again. */
export function serveInTurn(t: TestContext, ...listeners: RequestListener[]): Promise<Server> {
  let next = 0;
  return serve(t, (request, response) => {
    const listener = listeners[Math.min(next++, listeners.length - 1)];
    listener?.(request, response);
  });
}

/** A response with a JSON body. */
export function json(body: unknown, status = 200, headers: Record<string, string> = {}): RequestListener {
  return (_, response) =>
    send(response, status, { 'Content-Type': 'application/json', ...headers }, JSON.stringify(body));
}

/** A response with any body. */
export function text(body: string | Uint8Array, status = 200, headers: Record<string, string> = {}): RequestListener {
  return (_, response) => send(response, status, headers, body);
}

function send(response: ServerResponse, status: number, headers: Record<string, string>, body: string | Uint8Array) {
  response.writeHead(status, headers).end(body);
}

/** An error of the API. */
export function refuse(status: number, code: string, more: object = {}, headers: Record<string, string> = {}) {
  return json({ error: 'x', message: `This is ${code}.`, code, request_id: 'r-1', ...more }, status, headers);
}

/** Waits nowhere, and remembers for how long it was to wait. */
export function fakeSleep() {
  const waits: number[] = [];
  const sleep = async (milliseconds: number, signal?: AbortSignal): Promise<void> => {
    signal?.throwIfAborted();
    waits.push(milliseconds);
  };
  return { waits, sleep };
}

/** A client that does not wait. */
export function quickClient(url: string, options: ClientOptions = {}) {
  const { waits, sleep } = fakeSleep();
  return { waits, client: new Client(url, { sleep, ...options }) };
}

/** The error that a promise rejects with. */
export async function failure(promise: Promise<unknown>): Promise<AssayError> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof AssayError) return error;
    throw error;
  }
  throw new Error('there was no error');
}

/** What an iterator yields until it ends. */
export async function all<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const list: Item[] = [];
  for await (const item of items) list.push(item);
  return list;
}

/** A promise and the function that fulfills it. */
export function signal() {
  let fire: () => void = () => undefined;
  const fired = new Promise<void>((done) => (fire = done));
  return { fired, fire };
}

/** Timers that end when the test says so. */
export function fakeTimers(t: TestContext) {
  const { after } = clock;
  t.after(() => Object.assign(clock, { after }));
  const waiting = new Set<{ at: number; callback: () => void }>();
  let now = 0;
  clock.after = (milliseconds, callback) => {
    const timer = { at: now + milliseconds, callback };
    waiting.add(timer);
    return () => waiting.delete(timer);
  };
  const tick = (milliseconds: number): void => {
    now += milliseconds;
    for (const timer of waiting) {
      if (timer.at > now) continue;
      waiting.delete(timer);
      timer.callback();
    }
  };
  return { tick, waiting };
}
