// The watchlist as all components of the page see it. It belongs to the account that is signed in, and is forgotten with it.
import { untrack } from 'svelte';
import { ApiError, clearCache } from './api';
import { changeWatchlist, readWatchlist, withChange, type Watching, type Watchlist } from './personal';
import { session } from './session.svelte';

interface State {
  owner: string;
  list: Watchlist | undefined;
  error: ApiError | undefined;
  /** Changes that the server has not confirmed yet, oldest first. */
  pending: Watching[];
  failed: { change: Watching; error: ApiError } | undefined;
}

const none = (owner: string): State => ({
  owner,
  list: undefined,
  error: undefined,
  pending: [],
  failed: undefined,
});

let state = $state.raw(none(''));

/** The account that can keep something; empty if there is none. */
export const keeper = () => (session.mustAddFactor ? '' : (session.account?.email ?? ''));

/** What is known of the list, as long as its owner is signed in. */
const own = () => (state.owner === keeper() ? state : none(keeper()));

// What another account was shown is not kept, not even out of sight.
$effect.root(() => {
  $effect(() => {
    const owner = keeper();
    untrack(() => {
      if (state.owner !== owner) state = none(owner);
    });
  });
});

// A list that cannot be read is read again, so that no star stays empty for long that should be full.
const pause = 15_000;
let retry: ReturnType<typeof setTimeout> | undefined;

async function load(owner: string): Promise<void> {
  clearTimeout(retry);
  const before = own();
  try {
    const list = await readWatchlist();
    // A change that began meanwhile knows better.
    if (keeper() === owner && own().list === before.list && own().pending.length === 0)
      state = { ...own(), list, error: undefined };
  } catch (cause) {
    if (keeper() !== owner) return;
    const error = ApiError.from(cause);
    state = { ...own(), error };
    clearTimeout(retry);
    if (error.status !== 401) retry = setTimeout(reload, Math.max(pause, error.retryAfter * 1000));
  }
}

let users = 0; // components that show the list

function reload(): void {
  if (users > 0 && keeper()) void load(keeper());
}

// Another window may have changed the list while this one was out of sight.
document.addEventListener('visibilitychange', () => {
  if (document.visibilityState !== 'visible') return;
  clearCache('/api/watchlist');
  reload();
});

// One change after another: each begins with what the one before has left.
let queue = Promise.resolve();

function change(wanted: Watching): void {
  const owner = keeper();
  state = { ...own(), owner, pending: [...own().pending, wanted], failed: undefined };
  queue = queue.then(async () => {
    if (keeper() !== owner) return;
    const done = () => own().pending.filter((other) => other !== wanted);
    try {
      const list = await changeWatchlist(own().list, wanted);
      if (keeper() === owner) state = { ...own(), list, error: undefined, pending: done() };
    } catch (cause) {
      const error = ApiError.from(cause);
      if (keeper() === owner) state = { ...own(), pending: done(), failed: { change: wanted, error } };
    }
  });
}

export const watchlist = {
  /** The watched GPU models in the reader's order; undefined until they are known. */
  get gpus(): string[] | undefined {
    const { list, pending } = own();
    return list && pending.reduce((gpus, one) => withChange(gpus, one), list.gpu_types);
  },
  /** Why the list could not be read. */
  get error(): ApiError | undefined {
    return own().list ? undefined : own().error;
  },
  /** The change that failed last. */
  get failed() {
    return own().failed;
  },
  has(gpu: string): boolean {
    const { pending } = own();
    return pending.findLast((one) => one.gpu === gpu)?.watch ?? own().list?.gpu_types.includes(gpu) ?? false;
  },
  set: (gpu: string, watch: boolean) => change({ gpu, watch }),
  retry(): void {
    const failed = own().failed;
    if (failed) change(failed.change);
  },
  dismiss(): void {
    state = { ...own(), failed: undefined };
  },
  reload,
};

/** Loads the list for a component that shows it. */
export function useWatchlist(): void {
  $effect(() => {
    users++;
    return () => users--;
  });
  $effect(() => {
    const owner = keeper();
    if (owner) untrack(() => void load(owner));
  });
}
