// The address bar is the state of the page: what is shown can be bookmarked, sent and gone back to.

const here = $state({ path: location.pathname, query: new URLSearchParams(location.search) });

function read(): void {
  here.path = location.pathname;
  here.query = new URLSearchParams(location.search);
}

addEventListener('popstate', read);

/** The address that is shown. Reading it in a component makes the component follow it. */
export const address = {
  get path(): string {
    return here.path;
  },
  /** Path and query, as a link to here has them. */
  get link(): string {
    const query = here.query.toString();
    return here.path + (query ? `?${query}` : '');
  },
  /** The value of a query parameter, or what stands for its absence. */
  param(name: string, otherwise = ''): string {
    return here.query.get(name) ?? otherwise;
  },
};

/** Goes to another page, or to a section of this one. */
export function go(to: string): void {
  const before = location.pathname;
  history.pushState(null, '', to);
  read();
  if (location.pathname === before && location.hash) toSection();
  else scrollTo(0, 0);
}

/** Brings the section that the address names into view, and the focus to it. */
export function toSection(): void {
  const section = document.getElementById(location.hash.slice(1));
  section?.scrollIntoView();
  section?.focus({ preventScroll: true });
}

/** Changes query parameters of the page that is shown; an empty value removes one. A step can be gone back from. */
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

/** Lets plain links to our own pages change the page without loading it anew. */
export function followLinks(event: MouseEvent): void {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey)
    return;
  const link = (event.target as Element).closest('a');
  if (!link || link.target || link.hasAttribute('download') || link.origin !== location.origin) return;
  if (/^\/(api|openapi|health)/.test(link.pathname)) return;
  event.preventDefault();
  if (link.href !== location.href) go(link.pathname + link.search + link.hash);
}
