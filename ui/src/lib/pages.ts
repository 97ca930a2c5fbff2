import type { Component } from 'svelte';

type Loader<Props extends Record<string, unknown>> = () => Promise<{ default: Component<Props> }>;

/** A page: its path, its title, and how its code is loaded when it is opened. `{name}` stands for the name in a path. */
export interface Page {
  path: string;
  title: string;
  load: Loader<{ name: string }>;
}

const page = (path: string, title: string, load: Loader<Record<string, never>>): Page => ({
  path,
  title,
  load: withoutName(load),
});

const namedPage = (path: string, title: string, load: Page['load']): Page => ({ path, title, load });

/** Every page is given the name in its path. A page without one takes no properties. */
function withoutName(load: Loader<Record<string, never>>): Page['load'] {
  return async () => {
    const { default: component } = await load();
    return { default: (internals) => component(internals, {}) };
  };
}

/** All pages. The server knows the same paths, and a test compares both. */
export const pages: Page[] = [
  page('/', 'Overview', () => import('../pages/Overview.svelte')),
  namedPage('/gpu/{name}', '{name}', () => import('../pages/Gpu.svelte')),
  page('/regions', 'Prices by region', () => import('../pages/Regions.svelte')),
  namedPage('/proof/{name}', 'Proof of {name}', () => import('../pages/Proof.svelte')),
  page('/memory', 'Memory', () => import('../pages/Memory.svelte')),
  page('/tokens', 'Tokens', () => import('../pages/Tokens.svelte')),
  page('/workload', 'Workload', () => import('../pages/Workload.svelte')),
  page('/coding', 'Coding', () => import('../pages/Coding.svelte')),
  page('/sites', 'Sites', () => import('../pages/Sites.svelte')),
  page('/settings', 'Settings', () => import('../pages/Settings.svelte')),
  page('/plans', 'Plans', () => import('../pages/Plans.svelte')),
  page('/methodology', 'Methodology', () => import('../pages/Methodology.svelte')),
  page('/corrections', 'Corrections', () => import('../pages/Corrections.svelte')),
  page('/status', 'Status', () => import('../pages/Status.svelte')),
  page('/docs', 'API reference', () => import('../pages/Docs.svelte')),
  page('/signin', 'Sign in', () => import('../pages/SignIn.svelte')),
];

const notFound = page('', 'Not found', () => import('../pages/NotFound.svelte'));

/** Finds the page of a path, its title, and the name in the path. */
export function pageOf(path: string): { page: Page; name: string; title: string } {
  for (const candidate of pages) {
    const match = new RegExp(`^${candidate.path.replace('{name}', '([^/]+)')}$`).exec(path);
    if (!match) continue;
    const name = decode(match[1] ?? '');
    return { page: candidate, name, title: candidate.title.replace('{name}', () => name) };
  }
  return { page: notFound, name: '', title: notFound.title };
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
