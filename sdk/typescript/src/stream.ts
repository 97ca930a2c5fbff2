import { AssayError } from './error.js';
import type { StreamOptions } from './options.js';
import { streamRoute } from './routes.js';
import { EventParser, type RawEvent } from './sse.js';
import { backoff, type Exchange, type Transport } from './transport.js';
import { buildQuery } from './url.js';

/** The first event of each connection. */
export interface Hello {
  access?: string;
  version?: number;
  heartbeat_seconds?: number;
  [field: string]: unknown;
}

/** Events are missing: what you show must be read again, for instance from `catch_up`. */
export interface Gap {
  reason?: string;
  catch_up?: string;
  [field: string]: unknown;
}

/** The last event of a connection. The client connects again, except after `key_revoked`. */
export interface Bye {
  reason?: string;
  message?: string;
  [field: string]: unknown;
}

/** What an event says. Which fields it has depends on the event; the names are those of the routes. */
export interface StreamData {
  family?: string;
  gpu_type?: string | null;
  region?: string | null;
  timestamp?: string;
  index_value?: number | null;
  [field: string]: unknown;
}

/** The names of the events that say something about the market. */
export type MarketEventName = 'print' | 'price' | 'hour' | 'day' | 'correction' | 'observation' | 'notice';

/** An event of the stream. `id` is where to continue after it. Ignore events whose name you do not know. */
export type StreamEvent =
  | { event: 'hello'; id: string; data: Hello }
  | { event: 'gap'; id: string; data: Gap }
  | { event: 'bye'; id: string; data: Bye }
  | { event: MarketEventName; id: string; data: StreamData };

// The server sends something at least every heartbeat. A connection without a sign of life for three of them is dead.
const missedHeartbeats = 3;

const firstReconnect = 1000;
const shortestReconnect = 100; // a server that wants none would keep the client busy
const longestReconnect = 30_000;

/** What is known over all connections of a stream. */
interface Progress {
  lastEventId: string;
  reconnect: number; // the server's wish, in milliseconds
  failures: number; // connections in a row that brought nothing
}

/** Follows the stream, over as many connections as it takes. */
export async function* followStream(
  transport: Transport,
  options: StreamOptions,
): AsyncGenerator<StreamEvent, void, undefined> {
  const { signal, lastEventId = '', ...filters } = options;
  const target = (last: string): string =>
    streamRoute.path + buildQuery(streamRoute.query, last ? { ...filters, lastEventId: last } : filters, 'stream');
  const progress: Progress = { lastEventId, reconnect: firstReconnect, failures: 0 };
  let connected = false;
  for (;;) {
    // The id is a parameter: to other origins, browsers send the header Last-Event-ID only with permission.
    const request = { target: target(progress.lastEventId), accept: 'text/event-stream', signal };
    let wait: number | undefined;
    try {
      // A first connection that fails is an error, after the usual retries. Later ones are tried as long as it takes.
      const exchange = await transport.open(connected ? { ...request, maxRetries: 0 } : request);
      connected = true;
      const connection = new Connection(exchange, transport.timeout, progress);
      yield* connection.events();
      if (connection.revoked) return;
    } catch (error) {
      if (!connected || signal?.aborted) throw error;
      wait = reconnectWait(error, transport.maxWait);
    }
    await transport.sleep(wait ?? backoff(++progress.failures, progress.reconnect, longestReconnect), signal);
  }
}

/** How long to wait as the server says, or undefined for a backoff. Throws the error if it will not pass. */
function reconnectWait(error: unknown, maxWait: number): number | undefined {
  if (!(error instanceof AssayError) || !isPassing(error)) throw error;
  if (error.retryAfter === undefined) return undefined;
  if (error.retryAfter * 1000 > maxWait) throw error;
  return error.retryAfter * 1000;
}

function isPassing({ kind, status }: AssayError): boolean {
  return kind === 'connection' || kind === 'timeout' || status === 429 || (status !== undefined && status >= 500);
}

/** One connection of a stream. */
class Connection {
  /** Whether the server ended it because the key was revoked. */
  revoked = false;
  readonly #exchange: Exchange;
  readonly #progress: Progress;
  #silence: number; // how long the server may be silent, in milliseconds
  #arrived: RawEvent[] = [];

  constructor(exchange: Exchange, silence: number, progress: Progress) {
    this.#exchange = exchange;
    this.#silence = silence;
    this.#progress = progress;
  }

  async *events(): AsyncGenerator<StreamEvent, void, undefined> {
    const parser = new EventParser(
      {
        event: (event) => this.#arrived.push(event),
        comment: () => this.#alive(),
        retry: (milliseconds) => {
          this.#progress.reconnect = Math.max(shortestReconnect, Math.min(milliseconds, longestReconnect));
        },
      },
      this.#progress.lastEventId,
    );
    await this.#checkType();
    for await (const chunk of this.#exchange.chunks(() => this.#silence)) {
      this.#parse(parser, chunk);
      for (const raw of this.#arrived.splice(0)) {
        const event = this.#read(raw);
        this.#progress.lastEventId = raw.id;
        yield event;
        if (event.event === 'bye') return;
      }
    }
  }

  async #checkType(): Promise<void> {
    if (/^text\/event-stream\b/i.test(this.#exchange.headers.get('content-type') ?? '')) return;
    const error = this.#exchange.invalid('is no event stream');
    await this.#exchange.discard();
    throw error;
  }

  #parse(parser: EventParser, chunk: Uint8Array): void {
    try {
      parser.push(chunk);
    } catch (error) {
      if (error instanceof RangeError) throw this.#exchange.invalid(`is no stream of the API: ${error.message}`);
      throw error;
    }
  }

  #read({ event, data, id }: RawEvent): StreamEvent {
    const read = { event, id, data: this.#exchange.parse(data) } as StreamEvent;
    if (read.event === 'hello') this.#silence = silence(read.data.heartbeat_seconds) ?? this.#silence;
    else if (read.event === 'bye') this.revoked = read.data.reason === 'key_revoked';
    else if (read.event !== 'gap') this.#alive();
    return read;
  }

  /** The connection has brought something, so the next one need not wait longer. */
  #alive(): void {
    this.#progress.failures = 0;
  }
}

/** How many milliseconds a server may be silent that sends heartbeats this often. */
function silence(heartbeatSeconds: unknown): number | undefined {
  const fits = typeof heartbeatSeconds === 'number' && heartbeatSeconds > 0 && heartbeatSeconds <= 3600;
  return fits ? heartbeatSeconds * 1000 * missedHeartbeats : undefined;
}
