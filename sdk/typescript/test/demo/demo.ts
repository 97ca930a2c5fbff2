// The demo that scripts/test.js has started.
import { Client, type ClientOptions } from '@assaydata/client';

const variable = (name: string): string => {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set: run npm test`);
  return value;
};

export const url = variable('TEST_URL');
export const keys = {
  full: variable('TEST_FULL'),
  premium: variable('TEST_PREMIUM'),
  revoked: variable('TEST_REVOKED'),
};

let last = 0;

/** A client with an address of its own, and so with a rate limit of its own. The demo trusts what it says. */
export function demoClient(options: ClientOptions = {}): Client {
  const address = `2001:db8:${process.pid.toString(16)}:${(++last).toString(16)}::1`;
  return new Client(url, {
    key: keys.full,
    timeout: 300_000, // on a busy machine the demo may take long
    ...options,
    fetch: (target, init) => {
      const headers = new Headers(init.headers);
      headers.set('X-Forwarded-For', address);
      return fetch(target, { ...init, headers });
    },
  });
}
