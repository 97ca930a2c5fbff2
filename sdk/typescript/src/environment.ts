import { version } from './version.js';

/** A variable of the environment, where there is one: in Node, Deno and Bun, but not in browsers. */
export function variable(name: string): string | undefined {
  try {
    const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } };
    return process?.env?.[name] || undefined;
  } catch {
    return undefined; // Deno throws unless the program may read the variable
  }
}

/**
 * The User-Agent to send, or undefined in browsers. They have their own, and some ask a server of another origin for
 * permission before they send another one.
 */
export function userAgent(): string | undefined {
  const isBrowser = globalThis.navigator?.userAgent?.startsWith('Mozilla/') ?? false;
  return isBrowser ? undefined : `assay-typescript/${version}`;
}
