// The address bar holds the state of the page, so that every view can be bookmarked, shared and returned to.

const here = $state({ path: location.pathname, query: new URLSearchParams(location.search) });

function read(): void {
  here.path = location.pathname;
  here.query = new URLSearchParams(location.search);
}

addEventListener('popstate', read);

/** The current address. Components that read it follow it. */
export const address = {
  get path(): string {
    return here.path;
  },
  /** The path and query of a link to the current view. */
  get link(): string {
    const query = here.query.toString();
    return here.path + (query ? `?${query}` : '');
  },
  /** The value of a query parameter, or a default. */
  param(name: string, fallback = ''): string {
    return here.query.get(name) ?? fallback;
  },
};

/** Navigates to another page, or to a section of this one. */
export function go(to: string): void {
  const before = location.pathname;
  history.pushState(null, '', to);
  read();
  if (location.pathname === before && location.hash) toSection();
  else scrollTo(0, 0);
}

/** Scrolls to the section that the address names and focuses it. */
export function toSection(): void {
  const section = document.getElementById(location.hash.slice(1));
  section?.scrollIntoView();
  section?.focus({ preventScroll: true });
}

/** Changes query parameters of the current page; an empty value removes one. A step adds an entry to the history. */
export function setParams(changes: Record<string, string>, step = false): void {
  const query = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(changes)) {
    if (value === '') query.delete(name);
    else query.set(name, value);
  }
  const text = query.toString();
  const to = location.pathname + (text ? `?${text}` : '');
  if (step) history.pushState(null, '', to);
  else history.replaceState(null, '', to);
  read();
}

/** Follows plain links to pages of the dashboard without loading the document again. */
export function followLinks(event: MouseEvent): void {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey)
    return;
  const link = event.target instanceof Element && event.target.closest('a');
  if (!link || link.target || link.hasAttribute('download') || link.origin !== location.origin) return;
  if (/^\/(api|openapi|health|docs\/)/.test(link.pathname)) return;
  event.preventDefault();
  if (link.href !== location.href) go(link.pathname + link.search + link.hash);
}
