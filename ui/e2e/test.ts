import { test as base, expect, type Cookie, type Page, type Request } from '@playwright/test';
import { now, type Server } from './server';

interface Fixtures {
  /** Accepts console errors with these statuses: the test makes the server refuse something. */
  expectRefusals: (...statuses: number[]) => void;
  /** Signs in, before the next page is opened. */
  signIn: (who: 'free' | 'trial' | 'premium' | 'full' | 'member') => Promise<void>;
}

let clients = 0;

// Sign-ins are limited, so a worker signs in once per account. The sign-in form has its own test.
const signedIn = new Map<string, Cookie[]>();

// Every page of every test is watched: an error in the console or a request to another host fails the test.
export const test = base.extend<Fixtures, { server: Server }>({
  server: [async ({}, use) => use(JSON.parse(process.env.ASSAY_E2E_SERVER!)), { scope: 'worker' }],
  baseURL: async ({ server }, use) => use(server.base),
  extraHTTPHeaders: async ({}, use, info) => {
    clients++;
    await use({ 'X-Forwarded-For': `10.${info.workerIndex % 250}.${clients >> 8}.${clients & 255}` });
  },
  expectRefusals: async ({}, use) => {
    await use((...statuses) => allowed.push(...statuses));
    allowed.length = 0;
  },
  page: async ({ page, server }, use, info) => {
    const problems: string[] = [];
    watch(page, server.base, problems);
    // The browser's clock shows the server's time, on any day that the test runs. A bench measures with the real clock.
    if (info.project.name !== 'bench') await page.clock.setFixedTime(now);
    await use(page);
    expect(problems).toEqual([]);
  },
  signIn: async ({ page, server }, use) => {
    await use(async (who) => {
      const account = server.keys.accounts.find((candidate) => candidate.email.startsWith(`${who}@`))!;
      let cookies = signedIn.get(account.email);
      await page.context().clearCookies(); // signing in ends the session of the cookie, which other tests use
      if (!cookies) {
        const response = await page.request.post('/api/session', {
          data: { email: account.email, password: account.password },
        });
        expect(response.status()).toBe(200);
        cookies = await page.context().cookies();
        signedIn.set(account.email, cookies);
      }
      await page.context().addCookies(cookies);
    });
  },
});

const allowed: number[] = [];

/** Fills in and sends the sign-in form. */
export async function submitSignIn(page: Page, server: Server, who: string, password?: string): Promise<void> {
  const account = server.keys.accounts.find((candidate) => candidate.email.startsWith(`${who}@`))!;
  await page.goto('/signin');
  await page.getByLabel('Email').fill(account.email);
  await page.getByLabel('Password', { exact: true }).fill(password ?? account.password);
  await page.getByRole('main').getByRole('button', { name: 'Sign in', exact: true }).click();
}

/** Reads from the API with a key, or without one. */
export async function read(server: Server, path: string, key?: string) {
  const response = await fetch(server.base + path, key ? { headers: { Authorization: `Bearer ${key}` } } : {});
  expect(response.status).toBe(200);
  return response.json();
}

// The requests of each page that have not ended.
const pending = new WeakMap<Page, Set<Request>>();

function pendingOf(page: Page): Set<Request> {
  let requests = pending.get(page);
  if (!requests) {
    const started = (requests = new Set());
    pending.set(page, started);
    page.on('request', (request) => started.add(request));
    page.on('requestfinished', (request) => started.delete(request));
    page.on('requestfailed', (request) => started.delete(request));
  }
  return requests;
}

/** Notes every error in the console and every request to another host. */
export function watch(page: Page, origin: string, problems: string[]): void {
  page.on('console', (message) => {
    const refused = /status of (\d+)/.exec(message.text());
    if (refused && allowed.includes(Number(refused[1]))) return;
    if (message.type() === 'error' || message.type() === 'warning') problems.push(`console: ${message.text()}`);
  });
  page.on('pageerror', (error) => problems.push(`error: ${error.message}`));
  page.on('request', (request) => {
    if (!request.url().startsWith(origin) && !/^(data|blob):/.test(request.url()))
      problems.push(`request to ${request.url()}`);
  });
}

export { expect };

/** Every page, with the address under which it is checked and pictured. */
export const pages = [
  { name: 'overview', path: '/' },
  { name: 'gpu', path: '/gpu/H100%20SXM?compare=H200,B200' },
  { name: 'proof', path: '/proof/H100%20SXM?at=2026-11-12T21:00:00.000Z&grain=daily' },
  { name: 'memory', path: '/memory' },
  { name: 'tokens', path: '/tokens' },
  { name: 'workload', path: '/workload' },
  { name: 'coding', path: '/coding' },
  { name: 'sites', path: '/sites' },
  { name: 'settings', path: '/settings' },
  { name: 'plans', path: '/plans' },
  { name: 'docs', path: '/docs' },
  { name: 'signin', path: '/signin' },
  { name: 'missing', path: '/nowhere' },
] as const;

/** Opens a page and waits until it is complete. */
export async function open(page: Page, path: string): Promise<void> {
  const requests = pendingOf(page);
  await page.goto(path);
  await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
  // A response can lead to the next request, but only within a frame. So a page is complete when no request is pending
  // after two frames. The events of requests arrive before the result of the evaluation.
  await expect(async () => {
    expect(requests.size).toBe(0);
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    expect(requests.size).toBe(0);
    expect(await page.locator('[aria-busy="true"], .skeleton').count()).toBe(0);
  }).toPass({ intervals: [20, 20, 50, 100], timeout: 30_000 });
}
