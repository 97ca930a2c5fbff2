// What is published while a page is open. All parts of a page share one stream, which is open while the page is visible.
// Each window that is visible has its own: a server allows ten for an address or an account, and few windows are visible at
// a time.
import { clearCache } from './api';
import { EventStream, type StreamStatus } from './eventstream';
import { loadSession, session } from './session.svelte';

/** A value of a GPU model as the stream sends it: of a day, an hour, or as the current price. */
export interface ValueEvent {
  gpu_type: string;
  region: string;
  timestamp: string;
  index_value: number;
}

/** A real-time print. */
export interface PrintEvent extends ValueEvent {
  transactions: number;
  gpu_hours: number;
}

/** A restatement has changed values of a family. */
export interface CorrectionEvent {
  family: Family;
}

/** Observations of a family other than the GPU index were received. */
export interface ObservationEvent {
  family: Family;
}

interface Events {
  day: ValueEvent;
  hour: ValueEvent;
  price: ValueEvent;
  print: PrintEvent;
  correction: CorrectionEvent;
  observation: ObservationEvent;
}

export type EventName = keyof Events;

/** What a part of a page follows. Only what the reader may see can be named. */
export interface Interest {
  events: EventName[];
  /** The GPU models; empty for all. */
  gpus: string[];
  region: string;
}

/** The families as the stream names them: `models` are token prices and workload. */
export type Family = 'gpu' | 'memory' | 'models' | 'coding' | 'sites';

/** What is followed of another family than the GPU index: that there is something new. */
interface FamilyInterest {
  family: Exclude<Family, 'gpu'>;
  events: EventName[];
}

export interface Follower {
  /** Takes what arrives. */
  on: { [Name in EventName]?: (event: Events[Name]) => void };
  /** Loads again what is shown, because events are missing. */
  reload: () => void;
}

/** How live the page is: like its stream, or paused while the page is hidden, or off while nothing is followed. */
export type LiveStatus = StreamStatus | 'paused' | 'off';

// A reader who changes what is shown quickly causes one new stream, not many.
const settling = 150;
const leastBetween = 2000;
// A response that is shown may be as old as the cache of responses allows. A node shows a publication when its instant comes,
// and a second either way is lost to the precision of Date.
const oldestShown = 65_000;
// Corrections and observations come in thousands. They are loaded together, and not by all readers at once: between the first
// and the sum of both, in milliseconds.
const gathering = 300;
const spread = 900;
// Without a stream the page is loaded again now and then, as long as it is visible.
const pollEvery = 300_000;

const state = $state<{ status: LiveStatus }>({ status: 'off' });

export const live = {
  get status(): LiveStatus {
    return state.status;
  },
};

const followers = new Map<Follower, Interest | FamilyInterest>();
let query = '';
let stream: EventStream | undefined;
let since = 0; // when the page began to show what the stream is about
let started = -Infinity;
let timer: ReturnType<typeof setTimeout> | undefined;
const reloading = new Map<Family, ReturnType<typeof setTimeout>>();

/** Follows what a function names, as long as the component exists. It names nothing as long as nothing is known. */
export function follow(interest: () => Interest | FamilyInterest | null, follower: Follower): void {
  $effect(() => {
    void session.account?.email; // see apply
    const wanted = interest();
    if (!wanted) return;
    followers.set(follower, wanted);
    settle();
    return () => {
      followers.delete(follower);
      settle();
    };
  });
}

/**
 * Loads again when there is something new of a family other than the GPU index, as long as the component exists and the reader
 * may see it.
 */
export function followFamily(family: FamilyInterest['family'], allowed: () => boolean, reload: () => void): void {
  follow(
    () =>
      session.known && allowed()
        ? { family, events: session.keyed ? ['observation', 'correction'] : ['observation'] }
        : null,
    { on: {}, reload },
  );
}

/** The filters of a stream that has all that is followed. */
export function filtersOf(interests: Iterable<Interest | FamilyInterest>): string {
  const families = new Set<string>();
  const events = new Set<string>();
  const gpus = new Set<string>();
  const regions = new Set<string>();
  let every = false;
  for (const interest of interests) {
    for (const event of interest.events) events.add(event);
    families.add(familyOf(interest));
    if ('family' in interest) continue;
    every ||= interest.gpus.length === 0;
    for (const gpu of interest.gpus) gpus.add(gpu);
    regions.add(interest.region);
  }
  if (events.size === 0) return '';
  const filters = new URLSearchParams();
  for (const family of [...families].sort()) filters.append('family', family);
  for (const event of [...events].sort()) filters.append('event', event);
  // What is about no GPU model and no region passes neither filter.
  if (families.size > 1) return filters.toString();
  if (!every) for (const gpu of [...gpus].sort()) filters.append('gpu', gpu);
  for (const region of [...regions].sort()) filters.append('region', region);
  return filters.toString();
}

const familyOf = (interest: Interest | FamilyInterest): Family => ('family' in interest ? interest.family : 'gpu');

function settle(): void {
  clearTimeout(timer);
  timer = setTimeout(apply, Math.max(settling, started + leastBetween - performance.now()));
}

/** Opens, changes or closes the stream, as what is followed and the visibility of the page want it. */
function apply(): void {
  // Another account gets other events, so it gets another stream.
  const filters = filtersOf(followers.values());
  const wanted = filters && `${session.account?.email ?? ''} ${session.tier} ${filters}`;
  if (wanted !== query) {
    stream?.stop();
    stream = undefined;
    query = wanted;
    since = performance.now();
    state.status = 'off';
    if (filters) stream = new EventStream((id) => addressOf(filters, id), listener());
  } else if (state.status !== 'off' && state.status !== 'paused') {
    return; // it is open, or will be
  }
  if (stream && document.visibilityState === 'visible') {
    started = performance.now();
    stream.start();
  }
}

const addressOf = (filters: string, lastID: string) =>
  `/api/stream?${filters}${lastID && `&last_event_id=${encodeURIComponent(lastID)}`}`;

document.addEventListener('visibilitychange', () => {
  if (!stream) return;
  if (document.visibilityState === 'visible') return settle();
  clearTimeout(timer);
  stream.stop();
  state.status = 'paused';
});

setInterval(() => {
  if (state.status !== 'live' && document.visibilityState === 'visible') reloadAll();
}, pollEvery);

function listener() {
  return {
    status: (status: StreamStatus) => void (state.status = status),
    hello: ({ resumed, published_at }: { resumed: boolean; published_at: string | null }, date: number) => {
      if (resumed || !published_at) return;
      // What was published after the page was loaded is in no event of a stream that begins now.
      const age = date - Date.parse(published_at);
      if (Math.abs(age) < performance.now() - since + oldestShown) reloadAll();
    },
    gap: reloadAll,
    accessChanged: () => void loadSession(),
    event: take,
  };
}

function take(name: string, data: unknown): void {
  if (name === 'correction' || name === 'observation') {
    const { family } = data as CorrectionEvent | ObservationEvent;
    if (!reloading.has(family))
      reloading.set(
        family,
        setTimeout(() => reloadFamily(family), gathering + spread * Math.random()),
      );
    return;
  }
  // Another page may have been shown before, and may be shown again.
  clearCache('/api/gpu');
  for (const [follower, interest] of followers) {
    const { gpu_type, region } = data as ValueEvent;
    if ('family' in interest || region !== interest.region) continue;
    if (interest.gpus.length > 0 && !interest.gpus.includes(gpu_type)) continue;
    (follower.on[name as EventName] as ((event: unknown) => void) | undefined)?.(data);
  }
}

/** Loads again what is shown of a family. Of others, cached responses may be as old as before. */
function reloadFamily(family: Family): void {
  clearTimeout(reloading.get(family));
  reloading.delete(family);
  clearCache();
  for (const [follower, interest] of followers) if (familyOf(interest) === family) follower.reload();
}

function reloadAll(): void {
  for (const family of new Set([...followers.values()].map(familyOf))) reloadFamily(family);
}
