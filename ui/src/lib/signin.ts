// The way to the sign-in page and back.
import { address } from './router.svelte';

/** The address of the sign-in page that leads back to here. */
export function signInAddress(): string {
  const back = address.link;
  return back === '/' || address.path === '/signin' || address.path === '/settings'
    ? '/signin'
    : `/signin?next=${encodeURIComponent(back)}`;
}

/** Where to go after signing in: a page of ours that the address names, or the settings. */
export function nextPage(): string {
  const next = address.param('next');
  // A browser takes // and /\ for another host.
  if (!/^\/[^/\\]/.test(next) && next !== '/') return '/settings';
  const url = new URL(next, location.origin);
  const ours = url.origin === location.origin && !/^\/(api\/|signin$|openapi|health)/.test(url.pathname);
  return ours ? url.pathname + url.search + url.hash : '/settings';
}
