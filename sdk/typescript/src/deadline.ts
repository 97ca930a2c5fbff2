import { clock } from './clock.js';

/**
 * Ends an attempt when its time is over or when the caller aborts. `AbortSignal.any` would do this too, but is missing
 * in some runtimes.
 */
export class Deadline {
  readonly #controller = new AbortController();
  readonly #caller: AbortSignal | undefined;
  #cancel: (() => void) | undefined;
  #expired = false;

  constructor(caller: AbortSignal | undefined) {
    this.#caller = caller;
    if (caller?.aborted) this.#abort();
    else caller?.addEventListener('abort', this.#abort, { once: true });
  }

  /** Aborted when the attempt must end. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Whether the time is over, and the caller has not aborted. */
  get expired(): boolean {
    return this.#expired;
  }

  /** Starts the time, or starts it again. */
  start(milliseconds: number): void {
    this.pause();
    if (milliseconds === Infinity) return;
    this.#cancel = clock.after(milliseconds, () => {
      this.#expired = true;
      this.#controller.abort();
    });
  }

  /** Stops the time. */
  pause(): void {
    this.#cancel?.();
  }

  /** Stops the time and leaves the caller's signal. */
  end(): void {
    this.pause();
    this.#caller?.removeEventListener('abort', this.#abort);
  }

  readonly #abort = (): void => this.#controller.abort(this.#caller?.reason);
}
