/** The longest time that timers take: they end at once if it is longer. */
export const longestTimer = 2 ** 31 - 1;

/** The timers of the package, in one place so that tests can replace them. */
export const clock = {
  /** Calls a function later, and returns what takes that back. */
  after(milliseconds: number, callback: () => void): () => void {
    const timer = setTimeout(callback, milliseconds);
    return () => clearTimeout(timer);
  },
};

/** Waits, or rejects with the signal's reason if it is aborted. */
export function sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const abort = (): void => {
      cancel();
      reject(signal?.reason);
    };
    const cancel = clock.after(milliseconds, () => {
      signal?.removeEventListener('abort', abort);
      resolve();
    });
    signal?.addEventListener('abort', abort, { once: true });
  });
}
