// The link to the sign-in page and back.
import { address } from './router.svelte';

/** The address of the sign-in page that returns to the current view. */
export function signInAddress(): string {
  const current = address.link;
  return current === '/' || address.path === '/signin' || address.path === '/settings'
    ? '/signin'
    : `/signin?next=${encodeURIComponent(current)}`;
}

/** Where to go after signing in: a page of the dashboard that the address names, or the settings. */
export function nextPage(): string {
  const next = address.param('next');
  // Browsers read // and /\ as another host.
  if (!/^\/[^/\\]/.test(next) && next !== '/') return '/settings';
  const url = new URL(next, location.origin);
  const allowed = url.origin === location.origin && !/^\/(api\/|signin$|openapi|health)/.test(url.pathname);
  return allowed ? url.pathname + url.search + url.hash : '/settings';
}
