// A stand-in for the browser's address bar, for tests of modules that read or change it.
import { vi } from 'vitest';

/** Stubs the globals that the router uses. Call it before the router is imported. */
export function stubBrowser(address: string): { readonly url: URL; pushes: number } {
  const bar = { url: new URL(address, 'https://assay.example'), pushes: 0 };
  const moveTo = (to: string) => (bar.url = new URL(to, bar.url));
  vi.stubGlobal('location', {
    get pathname() {
      return bar.url.pathname;
    },
    get search() {
      return bar.url.search;
    },
    get hash() {
      return bar.url.hash;
    },
    get origin() {
      return bar.url.origin;
    },
    get href() {
      return bar.url.href;
    },
  });
  vi.stubGlobal('history', {
    pushState: (_: unknown, __: string, to: string) => {
      bar.pushes++;
      moveTo(to);
    },
    replaceState: (_: unknown, __: string, to: string) => moveTo(to),
  });
  vi.stubGlobal('addEventListener', () => undefined);
  vi.stubGlobal('scrollTo', () => undefined);
  return bar;
}
