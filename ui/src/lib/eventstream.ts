// One stream of events, kept open. It continues after the last event that it has got, waits longer each time that fails, and
// notices when nothing arrives any more.
import { EventReader, type ServerEvent } from './sse';

/** How a stream is doing. */
export type StreamStatus =
  | 'connecting'
  | 'live'
  /** It was lost, and is connected again after a pause. */
  | 'reconnecting'
  /** The server or a proxy does not let it through. It is tried again, but rarely. */
  | 'refused'
  /** The server has ended it for good: the key or the session that it belongs to ended. */
  | 'ended';

export interface Listener {
  status(status: StreamStatus): void;
  /** The stream has begun, or begun again. `date` is the Date header of the response. */
  hello(hello: { resumed: boolean; published_at: string | null }, date: number): void;
  event(name: string, data: unknown): void;
  /** Events are missing: load again what is shown. */
  gap(): void;
  /** The access of the reader may have changed. */
  accessChanged(): void;
}

/** How long a stream waits for what, in milliseconds. */
export interface Patience {
  /** For the first event. A proxy that collects responses delivers none. */
  first: number;
  /** For anything. The server sends a heartbeat every 15 seconds. */
  silence: number;
  /** Before the second attempt, and between attempts at most. */
  shortest: number;
  longest: number;
  /** Before the next attempt after a refusal, at least. */
  refused: number;
  /** A connection that has lasted this long was good: the next pause is a short one again. */
  lasting: number;
}

const patience: Patience = {
  first: 10_000,
  silence: 45_000,
  shortest: 1000,
  longest: 300_000,
  refused: 60_000,
  lasting: 30_000,
};

/** The pause before the next attempt: it doubles with each failure, and differs from client to client. */
export function pauseAfter(failures: number, shortest: number, longest: number, random = Math.random()): number {
  return Math.min(longest, shortest * 2 ** Math.min(failures, 20)) * (0.5 + random / 2);
}

/** How a connection ended, and how long to wait at least. */
type End = { kind: 'lost' | 'refused'; pause: number } | { kind: 'again' | 'ended' };

class Refused extends Error {
  constructor(readonly pause: number) {
    super('the stream is refused');
  }
}

export class EventStream {
  #lastID = '';
  #running: AbortController | undefined;
  #base: number;

  constructor(
    /** The address of the stream after the event with an id; without it from now on. */
    private readonly address: (lastID: string) => string,
    private readonly listener: Listener,
    private readonly wait: Patience = patience,
  ) {
    this.#base = wait.shortest;
  }

  /** Connects, after the last event that has arrived. */
  start(): void {
    this.stop();
    this.#running = new AbortController();
    void this.#run(this.#running.signal);
  }

  /** Disconnects. A later start continues. */
  stop(): void {
    this.#running?.abort();
    this.#running = undefined;
  }

  async #run(stopped: AbortSignal): Promise<void> {
    let failures = 0;
    this.listener.status('connecting');
    while (!stopped.aborted) {
      const begun = performance.now();
      const end = await this.#connect(stopped);
      if (stopped.aborted) return;
      if (performance.now() - begun > this.wait.lasting) failures = 0;
      const least = 'pause' in end ? end.pause : 0;
      this.listener.status(end.kind === 'ended' || end.kind === 'refused' ? end.kind : 'reconnecting');
      if (end.kind === 'ended') return;
      await pause(Math.max(least, pauseAfter(failures++, this.#base, this.wait.longest)), stopped);
    }
  }

  /** Reads one connection to its end. */
  async #connect(stopped: AbortSignal): Promise<End> {
    const silence = new Timer();
    const either = AbortSignal.any([stopped, silence.signal]);
    let begun = false;
    try {
      silence.set(this.wait.first);
      const response = await fetch(this.address(this.#lastID), {
        headers: { Accept: 'text/event-stream' },
        cache: 'no-store',
        signal: either,
      });
      const text = await this.#body(response);
      const reader = new EventReader();
      for (;;) {
        const { done, value } = await text.read();
        if (done) return { kind: 'lost', pause: 0 };
        if (begun) silence.set(this.wait.silence);
        for (const event of reader.push(value)) {
          begun ||= this.#begins(event, response, silence);
          const end = this.#take(event);
          if (end) return end;
        }
        if (reader.retry > this.wait.shortest) this.#base = Math.min(reader.retry, this.wait.longest);
      }
    } catch (cause) {
      if (cause instanceof Refused) return { kind: 'refused', pause: Math.max(cause.pause, this.wait.refused) };
      // The connection stood, but the first event did not come: something on the way holds it back.
      if (silence.signal.aborted && !begun) return { kind: 'refused', pause: this.wait.refused };
      return { kind: 'lost', pause: 0 };
    } finally {
      silence.end();
    }
  }

  /** The text of a response, if it is a stream. */
  async #body(response: Response): Promise<ReadableStreamDefaultReader<string>> {
    const type = response.headers.get('Content-Type') ?? '';
    if (response.ok && response.body && type.startsWith('text/event-stream'))
      return response.body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader();
    await response.body?.cancel();
    throw new Refused(retryAfter(response));
  }

  #begins(event: ServerEvent, response: Response, silence: Timer): boolean {
    if (event.name !== 'hello') return false;
    silence.set(this.wait.silence);
    const date = Date.parse(response.headers.get('Date') ?? '');
    this.listener.status('live');
    this.listener.hello(JSON.parse(event.data), Number.isNaN(date) ? Date.now() : date);
    return true;
  }

  /** Passes an event on, and says whether it is the last one. */
  #take(event: ServerEvent): End | undefined {
    if (event.id) this.#lastID = event.id;
    switch (event.name) {
      case 'hello':
        return undefined;
      case 'gap':
        this.listener.gap();
        return undefined;
      case 'bye':
        return this.#bye((JSON.parse(event.data) as { reason: string }).reason);
      default:
        this.listener.event(event.name, JSON.parse(event.data));
        return undefined;
    }
  }

  #bye(reason: string): End {
    if (reason !== 'key_revoked' && reason !== 'lifetime') return { kind: 'lost', pause: 0 };
    this.listener.accessChanged();
    return { kind: reason === 'lifetime' ? 'again' : 'ended' };
  }
}

// A timer that is set for more than 24 days expires at once.
const day = 86_400_000;

/** How long a response asks to wait, in milliseconds: a day at most, and not at all if it names no number of seconds. */
function retryAfter(response: Response): number {
  const seconds = Number(response.headers.get('Retry-After'));
  return seconds > 0 ? Math.min(seconds * 1000, day) : 0;
}

/** Aborts a signal when it has not been set again in time. */
class Timer {
  #controller = new AbortController();
  #timer: ReturnType<typeof setTimeout> | undefined;

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  set(milliseconds: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#controller.abort(), milliseconds);
  }

  /** Ends the connection that uses the signal, also if it was read to its last event only. */
  end(): void {
    clearTimeout(this.#timer);
    this.#controller.abort();
  }
}

function pause(milliseconds: number, stopped: AbortSignal): Promise<void> {
  return new Promise((done) => {
    const timer = setTimeout(done, milliseconds);
    stopped.addEventListener('abort', () => (clearTimeout(timer), done()), { once: true });
  });
}
