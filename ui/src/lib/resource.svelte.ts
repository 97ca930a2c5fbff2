import { untrack } from 'svelte';
import { ApiError } from './api';

/**
 * The state of a request: loading, loaded or failed. While it loads again, the previous data stays, also while the server
 * allows no more requests: then there are both data and an error.
 */
export interface Resource<T> {
  readonly data: T | undefined;
  readonly error: ApiError | undefined;
  readonly loading: boolean;
  reload(): void;
  /** Changes the data in place. A load that is under way may not know of the change yet, so the change is made again after it. */
  update(change: (data: T) => T): void;
}

/**
 * Loads data and loads it again whenever the state that the loader reads changes; late results of earlier loads are
 * dropped. A loader that returns null waits. After a 429 it retries automatically when the server allows it. Until then
 * `last` may return what an earlier visit has loaded.
 */
export function resource<T>(load: () => Promise<T> | null, last: () => T | undefined = () => undefined): Resource<T> {
  interface State {
    data?: T | undefined;
    of?: number; // the question that the data answers
    error?: ApiError | undefined;
    loading: boolean;
  }
  let state = $state.raw<State>({ loading: true });
  let reloads = $state(0);
  let changes: ((data: T) => T)[] = [];
  let reloadsBefore = 0;
  let question = 0; // other state asks another one
  $effect(() => {
    if (reloads === reloadsBefore) question++;
    reloadsBefore = reloads;
    const loading = load();
    if (!loading) return;
    let current = true;
    changes = [];
    let timer: ReturnType<typeof setTimeout> | undefined;
    const before = untrack(() => state);
    // What another question has loaded may stay while this one loads, but not in its place.
    const kept = before.of === question ? before.data : undefined;
    const refusal = kept !== undefined && before.error?.status === 429 ? before.error : undefined;
    state = { ...before, error: refusal, loading: true };
    loading.then(
      (data) => {
        if (!current) return;
        state = { data: changes.reduce((result, change) => change(result), data), of: question, loading: false };
      },
      (cause: unknown) => {
        if (!current) return;
        const error = ApiError.from(cause);
        state = { data: error.status === 429 ? kept : undefined, of: question, error, loading: false };
        if (error.status === 429) timer = setTimeout(() => reloads++, Math.max(1, error.retryAfter) * 1000);
      },
    );
    return () => {
      current = false;
      clearTimeout(timer);
    };
  });
  return {
    get data() {
      return state.data ?? (state.error?.status === 429 ? last() : undefined);
    },
    get error() {
      return state.error;
    },
    get loading() {
      return state.loading;
    },
    reload: () => void reloads++,
    update(change) {
      if (state.loading) changes.push(change);
      if (state.data !== undefined) state = { ...state, data: change(state.data) };
    },
  };
}
