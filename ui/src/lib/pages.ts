import type { Component } from 'svelte';

/** A page: which path it is, what it is called, and how its code is loaded when it is opened. */
export interface Page {
  pattern: RegExp;
  title: (name: string) => string;
  load: () => Promise<{ default: Component<{ name: string }> }>;
}

const page = (pattern: RegExp, title: string | ((name: string) => string), load: Page['load']): Page => ({
  pattern,
  title: typeof title === 'string' ? () => title : title,
  load,
});

/** All pages. The server knows the same paths; a test compares both. */
export const pages: Page[] = [
  page(/^\/$/, 'Overview', () => import('../pages/Overview.svelte')),
  page(
    /^\/gpu\/([^/]+)$/,
    (name) => name,
    () => import('../pages/Gpu.svelte'),
  ),
  page(
    /^\/proof\/([^/]+)$/,
    (name) => `Proof of ${name}`,
    () => import('../pages/Proof.svelte'),
  ),
  page(/^\/memory$/, 'Memory', () => import('../pages/Memory.svelte')),
  page(/^\/tokens$/, 'Tokens', () => import('../pages/Tokens.svelte')),
  page(/^\/workload$/, 'Workload', () => import('../pages/Workload.svelte')),
  page(/^\/coding$/, 'Coding', () => import('../pages/Coding.svelte')),
  page(/^\/sites$/, 'Sites', () => import('../pages/Sites.svelte')),
  page(/^\/settings$/, 'Settings', () => import('../pages/Settings.svelte')),
  page(/^\/plans$/, 'Plans', () => import('../pages/Plans.svelte')),
  page(/^\/docs$/, 'API reference', () => import('../pages/Docs.svelte')),
  page(/^\/signin$/, 'Sign in', () => import('../pages/SignIn.svelte')),
];

const missing = page(/^/, 'Not found', () => import('../pages/NotFound.svelte'));

/** Finds the page of a path, and the name in it. */
export function pageOf(path: string): { page: Page; name: string } {
  for (const candidate of pages) {
    const match = candidate.pattern.exec(path);
    if (match) return { page: candidate, name: decode(match[1] ?? '') };
  }
  return { page: missing, name: '' };
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
