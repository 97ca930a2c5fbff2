import { untrack } from 'svelte';
import { ApiError } from './api';

/** What is known of an answer: on its way, there, or failed. While it is asked for again, the last one stays. */
export interface Resource<T> {
  readonly data: T | undefined;
  readonly error: ApiError | undefined;
  readonly loading: boolean;
  reload(): void;
}

/**
 * Follows a question: whenever what it reads changes, it is asked again, and answers to earlier questions are dropped.
 * A question that gives null waits. After a 429 it asks again by itself when the server said to.
 */
export function resource<T>(question: () => Promise<T> | null): Resource<T> {
  let state = $state.raw<{ data?: T | undefined; error?: ApiError; loading: boolean }>({ loading: true });
  let again = $state(0);
  $effect(() => {
    void again;
    const asked = question();
    if (!asked) return;
    let current = true;
    let timer: ReturnType<typeof setTimeout> | undefined;
    state = { data: untrack(() => state.data), loading: true };
    asked.then(
      (data) => {
        if (current) state = { data, loading: false };
      },
      (cause: unknown) => {
        if (!current) return;
        const error = cause instanceof ApiError ? cause : new ApiError(String(cause), 0, 'unexpected');
        state = { error, loading: false };
        if (error.status === 429) timer = setTimeout(() => again++, Math.max(1, error.retryAfter) * 1000);
      },
    );
    return () => {
      current = false;
      clearTimeout(timer);
    };
  });
  return {
    get data() {
      return state.data;
    },
    get error() {
      return state.error;
    },
    get loading() {
      return state.loading;
    },
    reload: () => void again++,
  };
}
