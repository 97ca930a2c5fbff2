// The link to the sign-in page and back.
import { address } from './router.svelte';
import { session } from './session.svelte';

/** The address of the sign-in page that returns to the current view, on the sign-in page to where that returns. */
export function signInAddress(): string {
  const next = address.path === '/signin' ? nextPage() : address.link;
  return next === '/' ? '/signin' : `/signin?next=${encodeURIComponent(next)}`;
}

/** Where to go after signing in: a page of the dashboard that the address names, or the overview. */
export function nextPage(): string {
  if (session.mustAddFactor) return '/settings'; // until then, the server refuses everything else
  const next = address.param('next');
  // Browsers read // and /\ as another host.
  if (!/^\/[^/\\]/.test(next) && next !== '/') return '/';
  const url = new URL(next, location.origin);
  const allowed = url.origin === location.origin && !/^\/(api\/|signin$|openapi|health)/.test(url.pathname);
  return allowed ? url.pathname + url.search + url.hash : '/';
}

// An identity provider sends the browser back to the overview. The tab remembers where the reader was, for as long as a
// sign-in with a provider may take.
const returning = 'assay:return';
const providerTime = 600_000;

/** Remembers where to go when the reader comes back from the identity provider. */
export function rememberNext(): void {
  try {
    sessionStorage.setItem(returning, JSON.stringify({ next: nextPage(), at: Date.now() }));
  } catch {
    // Without storage the reader stays on the overview.
  }
}

/** Where the reader who has come back from the identity provider was, once; the overview if nothing is remembered. */
export function takeNext(): string {
  try {
    const found = JSON.parse(sessionStorage.getItem(returning) ?? 'null') as { next: string; at: number } | null;
    sessionStorage.removeItem(returning);
    return found && Math.abs(Date.now() - found.at) < providerTime ? found.next : '/';
  } catch {
    return '/';
  }
}
