import { ResponseCache, type CacheLimits } from './cache.js';
import { longestTimer, sleep } from './clock.js';
import { Deadline } from './deadline.js';
import { userAgent, variable } from './environment.js';
import { AssayError, contentType, invalidArgument, isObject, parseObject, refusalError } from './error.js';
import { baseUrl } from './url.js';

/** How a client works. */
export interface ClientOptions {
  /** The API key: `ASSAY_KEY` of the environment unless given. With an empty one only what is free can be read. */
  key?: string | undefined;
  /**
   * The time for each attempt of a request, in milliseconds: 30,000 unless given; `Infinity` for no limit. For tables
   * and streams, which last longer, it bounds the time to the response and each pause in it.
   */
  timeout?: number | undefined;
  /** How often a request is tried again: 3 times unless given. */
  maxRetries?: number | undefined;
  /**
   * How long a call waits before its retries, all together, in milliseconds: 60,000 unless given. If the server asks
   * for more, the call fails at once.
   */
  maxWait?: number | undefined;
  /** Keeps responses in memory, and asks the server whether they are still current. Off unless given. */
  cache?: boolean | CacheLimits | undefined;
  /** Called with each response before its body is read. */
  onResponse?: ((response: ResponseInfo) => void) | undefined;
  /** Sends the requests, in place of the global `fetch`. */
  fetch?: Fetch | undefined;
  /** Waits before retries, for tests. */
  sleep?: ((milliseconds: number, signal?: AbortSignal) => Promise<void>) | undefined;
}

/** The part of `fetch` that the client uses. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** What is known of a response before its body. The headers have the rate limit, and whether data is synthetic. */
export interface ResponseInfo {
  url: string;
  status: number;
  headers: Headers;
  /** 1 for the first attempt. */
  attempt: number;
}

/** One GET request. */
export interface GetRequest {
  /** Path and query. */
  target: string;
  accept: string;
  signal?: AbortSignal | undefined;
  /** The tag of the response that is already there. */
  etag?: string | undefined;
  /** A status besides 200 whose body is wanted. */
  accepted?: number | undefined;
  /** How often to try again, if not as often as the client does. */
  maxRetries?: number | undefined;
}

// A response of the API is far smaller, and strings end at half a gigabyte.
const longestBody = 256 * 1024 * 1024;
const longestErrorBody = 64 * 1024;

/** The first backoff takes up to half a second; each following one up to twice as long, to at most 8 seconds. */
const firstBackoff = 500;
const longestBackoff = 8000;

/** Sends requests: key, time limits, retries, errors, cache. What can be read is the business of `Client`. */
export class Transport {
  readonly url: string;
  readonly timeout: number;
  readonly maxWait: number;
  readonly sleep: (milliseconds: number, signal?: AbortSignal) => Promise<void>;
  readonly #key: string | undefined;
  readonly #maxRetries: number;
  readonly #fetch: Fetch;
  readonly #onResponse: ((response: ResponseInfo) => void) | undefined;
  readonly #cache: ResponseCache | undefined;

  constructor(url: string | URL | undefined, options: ClientOptions) {
    checkNames(options);
    const address = url ?? variable('ASSAY_URL');
    if (address === undefined) throw invalidArgument('url', 'Pass the address of the server, or set ASSAY_URL.');
    this.url = baseUrl(address);
    this.#key = checkKey(options.key ?? variable('ASSAY_KEY'));
    this.timeout = checkNumber('timeout', options.timeout ?? 30_000, 1, Infinity);
    this.maxWait = checkNumber('maxWait', options.maxWait ?? 60_000, 0, longestTimer);
    this.#maxRetries = checkNumber('maxRetries', options.maxRetries ?? 3, 0, Infinity);
    this.#fetch = options.fetch ?? ((url, init) => globalThis.fetch(url, init));
    this.sleep = options.sleep ?? sleep;
    this.#onResponse = options.onResponse;
    if (options.cache) this.#cache = new ResponseCache(checkLimits(options.cache === true ? {} : options.cache));
  }

  /** The JSON object that the server responds with. */
  async json(request: Omit<GetRequest, 'accept' | 'etag'>): Promise<Record<string, unknown>> {
    const stored = this.#cache?.get(request.target);
    const exchange = await this.open({ ...request, accept: 'application/json', etag: stored?.etag });
    if (exchange.status === 304 && stored) {
      await exchange.discard();
      return exchange.parse(stored.text);
    }
    const bytes = await exchange.bytes(longestBody);
    if (exchange.status !== 200) return exchange.state(bytes);
    const text = exchange.decode(bytes);
    const body = exchange.parse(text);
    const etag = exchange.headers.get('etag');
    if (etag) this.#cache?.set(request.target, { etag, text, bytes: bytes.length });
    else this.#cache?.delete(request.target);
    return body;
  }

  /** Sends a request, again where that may help, until the server responds with what was asked for. */
  async open(request: GetRequest): Promise<Exchange> {
    const maxRetries = request.maxRetries ?? this.#maxRetries;
    let waited = 0;
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#attempt(request, attempt);
      } catch (error) {
        const wait = attempt > maxRetries ? undefined : retryWait(error, attempt);
        if (wait === undefined || waited + wait > this.maxWait) throw error;
        waited += wait;
        await this.sleep(wait, request.signal);
      }
    }
  }

  async #attempt(request: GetRequest, attempt: number): Promise<Exchange> {
    const deadline = new Deadline(request.signal);
    deadline.start(this.timeout);
    const url = this.url + request.target;
    let exchange: Exchange | undefined;
    try {
      const send = this.#fetch; // as a method, browsers refuse to call the global fetch
      const response = await send(url, {
        headers: this.#headers(request),
        redirect: 'manual',
        signal: deadline.signal,
      });
      exchange = new Exchange(url, response, deadline, request.signal, this.#redact);
      this.#onResponse?.({ url, status: response.status, headers: response.headers, attempt });
      await exchange.check(request);
      return exchange;
    } catch (error) {
      if (exchange) {
        await exchange.discard();
        throw error;
      }
      deadline.end();
      throw explain(error, deadline, request.signal, `GET ${url}`, this.#redact);
    }
  }

  #headers({ accept, etag }: GetRequest): Record<string, string> {
    const headers: Record<string, string> = { Accept: accept };
    const agent = userAgent();
    if (agent) headers['User-Agent'] = agent;
    if (this.#key) headers['Authorization'] = `Bearer ${this.#key}`;
    if (etag) headers['If-None-Match'] = etag;
    return headers;
  }

  /** No text of a server or of a runtime brings the key into an error. */
  readonly #redact = (text: string): string => (this.#key ? text.replaceAll(this.#key, '[key]') : text);
}

/** A request whose response has begun. Its body must be read or discarded. */
export class Exchange {
  readonly #url: string;
  readonly #response: Response;
  readonly #deadline: Deadline;
  readonly #caller: AbortSignal | undefined;
  readonly #redact: (text: string) => string;

  constructor(
    url: string,
    response: Response,
    deadline: Deadline,
    caller: AbortSignal | undefined,
    redact: (text: string) => string,
  ) {
    this.#url = url;
    this.#response = response;
    this.#deadline = deadline;
    this.#caller = caller;
    this.#redact = redact;
  }

  get status(): number {
    return this.#response.status;
  }

  get headers(): Headers {
    return this.#response.headers;
  }

  /** Throws unless the response has what was asked for. */
  async check(request: GetRequest): Promise<void> {
    const { status, type } = this.#response;
    if (type === 'opaqueredirect' || (status >= 300 && status < 400 && status !== 304)) {
      throw new AssayError('redirect', `GET ${this.#url} is redirected, which the API never does.`, {
        status: status || undefined, // browsers hide it
      });
    }
    if (status === 200 || status === request.accepted || (status === 304 && request.etag)) return;
    if (status < 400) throw this.invalid('has an unexpected status');
    throw await this.#refusal();
  }

  async #refusal(): Promise<AssayError> {
    const body = await this.bytes(longestErrorBody).catch((error: unknown) => {
      if (this.#caller?.aborted) throw error;
      return new Uint8Array(); // the status counts, whatever happens to the body
    });
    return this.#refused(body);
  }

  #refused(body: Uint8Array): AssayError {
    return refusalError({
      request: `GET ${this.#url}`,
      status: this.status,
      headers: this.headers,
      body: new TextDecoder().decode(body),
      redact: this.#redact,
    });
  }

  /** The state of a server that is not healthy. Any other body with this status is an error. */
  state(bytes: Uint8Array): Record<string, unknown> {
    const body = parseObject(new TextDecoder().decode(bytes));
    if (typeof body['status'] !== 'string') throw this.#refused(bytes);
    return body;
  }

  /** The whole body. More than `limit` bytes are an error. */
  async bytes(limit: number): Promise<Uint8Array<ArrayBuffer>> {
    const chunks: Uint8Array[] = [];
    let length = 0;
    for await (const chunk of this.chunks()) {
      length += chunk.length;
      if (length > limit) throw this.invalid(`has more than ${limit} bytes`);
      chunks.push(chunk);
    }
    const all = new Uint8Array(length);
    let offset = 0;
    for (const chunk of chunks) {
      all.set(chunk, offset);
      offset += chunk.length;
    }
    return all;
  }

  /**
   * The body as it arrives. With `pause`, the time limit of the attempt has ended, and each chunk must arrive within as
   * many milliseconds after it was asked for.
   */
  async *chunks(pause?: () => number): AsyncGenerator<Uint8Array, void, undefined> {
    const reader = this.#response.body?.getReader();
    if (pause) this.#deadline.pause();
    try {
      while (reader) {
        if (pause) this.#deadline.start(pause());
        const { done, value } = await this.#read(reader);
        if (pause) this.#deadline.pause();
        if (done) break;
        yield value;
      }
    } finally {
      this.#deadline.end();
      void reader?.cancel().catch(() => undefined);
    }
  }

  async #read(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<ReadableStreamReadResult<Uint8Array>> {
    try {
      return await reader.read();
    } catch (error) {
      const failure = explain(error, this.#deadline, this.#caller, `The response to GET ${this.#url}`, this.#redact);
      if (failure instanceof AssayError) {
        throw new AssayError(failure.kind, failure.message, { status: this.status }, error);
      }
      throw failure;
    }
  }

  /** Gives the connection back without reading the body. */
  async discard(): Promise<void> {
    this.#deadline.end();
    if (!this.#response.body?.locked) await this.#response.body?.cancel().catch(() => undefined);
  }

  decode(bytes: Uint8Array): string {
    try {
      return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    } catch {
      throw this.invalid('is not UTF-8');
    }
  }

  /** The JSON object in a text. Nothing of another text gets into the error. */
  parse(text: string): Record<string, unknown> {
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      throw this.invalid('is not JSON');
    }
    if (!isObject(value)) throw this.invalid('is no JSON object');
    return value;
  }

  /** The error for a response that the API does not send. */
  invalid(what: string): AssayError {
    const described = `status ${this.status}, ${contentType(this.headers, this.#redact)}`;
    const message = `The response to GET ${this.#url} ${what} (${described}). Is this the address of an Assay server?`;
    return new AssayError('invalid_response', message, { status: this.status });
  }
}

/** What a failure of fetch means: the caller aborted, the time is over, or the connection failed. */
function explain(
  error: unknown,
  deadline: Deadline,
  caller: AbortSignal | undefined,
  what: string,
  redact: (text: string) => string,
): unknown {
  if (caller?.aborted) return caller.reason;
  if (deadline.expired) return new AssayError('timeout', `${what} took too long.`);
  return new AssayError('connection', `${what} failed: ${redact(causeOf(error))}.`, {}, error);
}

/** Why a connection failed. Node has the reason in the cause. */
function causeOf(error: unknown): string {
  const { cause, message } = error as { cause?: { code?: unknown; message?: unknown }; message?: unknown };
  return String(cause?.code ?? cause?.message ?? message ?? error);
}

/** How many milliseconds to wait before another attempt, or undefined if none may help. */
function retryWait(error: unknown, attempt: number): number | undefined {
  if (!(error instanceof AssayError) || !mayPass(error)) return undefined;
  if (error.retryAfter !== undefined) return error.retryAfter * 1000;
  return backoff(attempt, firstBackoff, longestBackoff);
}

/** Connections fail without a status before the response, and with one in the middle of it. */
function mayPass({ status, kind }: AssayError): boolean {
  return status === 429 || status === 503 || (kind === 'connection' && status === undefined);
}

/** A random time, so that clients that failed together do not come back together. */
export function backoff(attempt: number, first: number, longest: number): number {
  return Math.random() * Math.min(longest, first * 2 ** (attempt - 1));
}

const optionNames: Record<keyof ClientOptions, true> = {
  key: true,
  timeout: true,
  maxRetries: true,
  maxWait: true,
  cache: true,
  onResponse: true,
  fetch: true,
  sleep: true,
};

/** A misspelled `key` would read what is free, without a word. */
function checkNames(options: object): void {
  const allowed = Object.keys(optionNames);
  for (const name of Object.keys(options)) {
    if (allowed.includes(name)) continue;
    throw invalidArgument(name, `There is no option "${name}" of a client. There are ${allowed.join(', ')}.`, allowed);
  }
}

/** A key goes into a header as it is. The messages do not repeat it. */
function checkKey(key: unknown): string | undefined {
  if (key === undefined || key === null || key === '') return undefined;
  if (typeof key !== 'string') throw invalidArgument('key', 'The key must be a string.');
  if (!/^[\x21-\x7e]+$/.test(key)) {
    throw invalidArgument('key', 'The key has a character that no key has, such as a space or a line end.');
  }
  return key;
}

function checkNumber(param: string, value: unknown, least: number, most: number): number {
  const fits =
    typeof value === 'number' && value >= least && (value <= longestTimer || value === most) && value <= most;
  if (!fits) throw invalidArgument(param, `${param} must be a number from ${least} to ${most}.`);
  return value;
}

function checkLimits(limits: CacheLimits): CacheLimits {
  for (const [name, value] of Object.entries(limits)) checkNumber(`cache.${name}`, value, 1, Infinity);
  return limits;
}
