import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { EventStream, pauseAfter, type Patience } from './eventstream';

// The streams of these tests come from a real server on loopback, which behaves as the test wants.

const quick: Patience = { first: 300, silence: 300, shortest: 5, longest: 40, refused: 20, lasting: 60_000 };

const hello = 'id: 1-a\nevent: hello\ndata: {"success":true,"resumed":false,"published_at":null}\n\n';

const ending: (() => void)[] = [];
afterEach(() => {
  for (const end of ending.splice(0)) end();
});

type Respond = (response: ServerResponse, request: IncomingMessage, n: number) => void;

const begin = (response: ServerResponse, text: string) => {
  response.writeHead(200, { 'Content-Type': 'text/event-stream' });
  response.write(text);
};

/** Follows a server until something has happened, and returns everything that did. */
async function followed(respond: Respond, until: (log: string[]) => boolean, patience: Patience = quick) {
  let requests = 0;
  const server = createServer((request, response) => respond(response, request, ++requests));
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const log: string[] = [];
  let finish: () => void = () => undefined;
  const finished = new Promise<void>((done) => (finish = done));
  const note = (line: string) => {
    log.push(line);
    if (until(log)) finish();
  };
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const stream = new EventStream(
    (id) => `${base}/?id=${id}`,
    {
      status: (status) => note(`status ${status}`),
      hello: (begun) => note(`hello ${begun.resumed}`),
      event: (name, data) => note(`${name} ${JSON.stringify(data)}`),
      gap: () => note('gap'),
      accessChanged: () => note('access changed'),
    },
    patience,
  );
  ending.push(() => {
    stream.stop();
    server.closeAllConnections();
    server.close();
  });
  stream.start();
  await finished;
  return { log, stream, requests: () => requests };
}

const includes =
  (line: string, times = 1) =>
  (log: string[]) =>
    log.filter((one) => one === line).length >= times;

test('events arrive, and a connection that is lost continues after the last one', async () => {
  const { log } = await followed((response, request, n) => {
    if (n === 1) {
      begin(response, `${hello}id: 2-b\nevent: day\ndata: {"n":1}\n\n`);
      response.end();
    } else {
      begin(response, `${hello}event: day\ndata: ${JSON.stringify({ asked: request.url })}\n\n`);
    }
  }, includes('day {"asked":"/?id=2-b"}'));
  expect(log).toEqual([
    'status connecting',
    'status live',
    'hello false',
    'day {"n":1}',
    'status reconnecting',
    'status live',
    'hello false',
    'day {"asked":"/?id=2-b"}',
  ]);
});

test('an event that is cut in the middle comes once, and whole', async () => {
  const { log } = await followed((response, request, n) => {
    if (n === 1) {
      begin(response, `${hello}id: 2-b\nevent: day\ndata: {"n":1}\n\nid: 3-c\nevent: day\ndata: {"n":2}\n`);
      response.end();
    } else {
      begin(response, `id: 3-c\nevent: day\ndata: ${JSON.stringify({ n: 2, asked: request.url })}\n\n`);
    }
  }, includes('day {"n":2,"asked":"/?id=2-b"}'));
  expect(log.filter((line) => line.startsWith('day'))).toEqual(['day {"n":1}', 'day {"n":2,"asked":"/?id=2-b"}']);
});

test('a gap comes before what follows', async () => {
  const { log } = await followed(
    (response) => begin(response, `event: gap\ndata: {"reason":"too_old"}\n\n${hello}`),
    includes('hello false'),
  );
  expect(log).toEqual(['status connecting', 'gap', 'status live', 'hello false']);
});

describe('the last event', () => {
  const bye = (reason: string) => `${hello}event: bye\ndata: {"reason":"${reason}","message":""}\n\n`;

  for (const reason of ['slow_reader', 'shutdown', 'a word of a later release'])
    test(`${reason}: connects again`, async () => {
      const { log } = await followed((response) => begin(response, bye(reason)), includes('hello false', 2));
      expect(log).toContain('status reconnecting');
      expect(log).not.toContain('access changed');
    });

  test('lifetime: reads the session and connects again', async () => {
    const { log } = await followed((response) => begin(response, bye('lifetime')), includes('hello false', 2));
    expect(log).toContain('access changed');
  });

  test('key_revoked: does not connect again', async () => {
    const { log, requests } = await followed(
      (response) => begin(response, bye('key_revoked')),
      includes('status ended'),
    );
    expect(log.slice(-2)).toEqual(['access changed', 'status ended']);
    expect(requests()).toBe(1);
  });
});

describe('what is no stream is refused, and tried again later', () => {
  const cases: [string, Respond][] = [
    ['429', (response) => response.writeHead(429, { 'Retry-After': '0' }).end('{}')],
    ['503', (response) => response.writeHead(503).end()],
    ['the page of a proxy', (response) => response.writeHead(200, { 'Content-Type': 'text/html' }).end('<h1>')],
    [
      'a proxy that collects the response',
      (response) => void response.writeHead(200, { 'Content-Type': 'text/event-stream' }).flushHeaders(),
    ],
    ['a server that does not respond', () => undefined],
  ];
  for (const [name, respond] of cases)
    test(name, async () => {
      const { log } = await followed(respond, includes('status refused', 2), { ...quick, first: 50 });
      expect(new Set(log)).toEqual(new Set(['status connecting', 'status refused']));
    });

  const waits: [string, string, number, number][] = [
    ['after Retry-After at the earliest', '3600', 3_600_000, 3_600_000],
    ['after a day at the latest', '99999999999', 86_400_000, 86_400_000],
    ['after the usual pause if Retry-After is a date', 'Wed, 21 Oct 2026 07:28:00 GMT', 20, 40],
    ['after the usual pause if Retry-After is in the past', '-5', 20, 40],
  ];
  for (const [name, value, least, most] of waits)
    test(name, async () => {
      const timers = vi.spyOn(globalThis, 'setTimeout');
      const { log, stream } = await followed(
        (response) => response.writeHead(429, { 'Retry-After': value }).end('{}'),
        includes('status refused'),
      );
      expect(log).toEqual(['status connecting', 'status refused']);
      const pauses = timers.mock.calls.map(([, milliseconds]) => milliseconds ?? 0);
      stream.stop();
      timers.mockRestore();
      expect(pauses.filter((pause) => pause >= least && pause <= most)).toHaveLength(1);
    });
});

test('a connection on which nothing arrives any more is lost', async () => {
  const { log } = await followed((response) => begin(response, hello), includes('status reconnecting'), {
    ...quick,
    silence: 50,
  });
  expect(log).toEqual(['status connecting', 'status live', 'hello false', 'status reconnecting']);
});

test('heartbeats keep a connection', async () => {
  let beats = 0;
  const { log } = await followed(
    (response) => {
      begin(response, hello);
      const timer = setInterval(() => {
        response.write(++beats < 20 ? ': heartbeat\n\n' : 'event: day\ndata: {}\n\n');
      }, 20);
      response.on('close', () => clearInterval(timer));
    },
    includes('day {}'),
    { ...quick, silence: 200 }, // 20 heartbeats take twice as long
  );
  expect(log).not.toContain('status reconnecting');
});

test('what cannot be read ends the connection, not the page', async () => {
  const { log } = await followed(
    (response) => begin(response, `${hello}event: day\ndata: {"cut\n\n`),
    includes('status reconnecting'),
  );
  expect(log).toEqual(['status connecting', 'status live', 'hello false', 'status reconnecting']);
});

test('a server that ends every connection is asked less and less often', async () => {
  const timers = vi.spyOn(globalThis, 'setTimeout');
  await followed((response) => response.destroy(), includes('status reconnecting', 6), {
    ...quick,
    shortest: 3,
    longest: 1000,
  });
  const pauses = timers.mock.calls.map(([, milliseconds]) => milliseconds ?? 0).filter((pause) => pause < quick.first);
  timers.mockRestore();
  expect(Math.max(...pauses)).toBeGreaterThanOrEqual(48); // half of 3 · 2⁵
});

test('pauses double up to a limit, and differ by half', () => {
  const f = (failures: number, random: number, want: number) =>
    expect(pauseAfter(failures, 1000, 300_000, random)).toBe(want);
  f(0, 0, 500);
  f(0, 1, 1000);
  f(1, 1, 2000);
  f(5, 0, 16_000);
  f(9, 1, 300_000);
  f(5000, 1, 300_000);
});
