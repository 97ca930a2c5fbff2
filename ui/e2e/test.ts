import { execFileSync } from 'node:child_process';
import { test as base, expect, request, type Cookie, type Page, type Request } from '@playwright/test';
import { now, program, type Server } from './server';

interface Fixtures {
  /** Accepts console errors with these statuses, or without any: the test makes the server refuse something, or go away. */
  expectRefusals: (...statuses: (number | 'net::ERR_FAILED')[]) => void;
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
      const account = accountOf(server, who);
      let cookies = signedIn.get(account.email);
      await page.context().clearCookies(); // signing in ends the session of the cookie, which other tests use
      if (!cookies) {
        const { email, password } = account;
        const response = await page.request.post('/api/session', { data: { email, password } });
        expect(response.status()).toBe(200);
        cookies = await page.context().cookies();
        signedIn.set(account.email, cookies);
      }
      await page.context().addCookies(cookies);
    });
  },
});

const allowed: (number | 'net::ERR_FAILED')[] = [];

export interface Credentials {
  email: string;
  password: string;
}

/** One of the demo's accounts. */
export const accountOf = (server: Server, who: string): Credentials =>
  server.keys.accounts.find((candidate) => candidate.email.startsWith(`${who}@`))!;

/** Adds an account that no other test uses, without a plan, and replaces the password that it was added with. */
export async function makeAccount(server: Server, email: string): Promise<Credentials> {
  const first = execFileSync(program, ['account', 'add', email, '--dir', server.folder], { encoding: 'utf8' }).trim();
  const context = await request.newContext({ baseURL: server.base });
  const password = 'correct horse battery staple';
  expect((await context.post('/api/session', { data: { email, password: first } })).status()).toBe(200);
  const changed = await context.put('/api/account/password', { data: { current: first, next: password } });
  expect(changed.status()).toBe(200);
  await context.dispose();
  return { email, password };
}

/** Fills in and sends the sign-in form, on the way to the settings. */
export async function submitSignIn(page: Page, { email, password }: Credentials): Promise<void> {
  await page.goto('/signin?next=%2Fsettings');
  await page.getByLabel('Email').fill(email);
  await page.getByLabel('Password', { exact: true }).fill(password);
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

/** Whether a request is the stream, which does not end while the page is open. */
const isStream = (request: Request) => new URL(request.url()).pathname === '/api/stream';

function pendingOf(page: Page): Set<Request> {
  let requests = pending.get(page);
  if (!requests) {
    const started = (requests = new Set());
    pending.set(page, started);
    page.on('request', (request) => {
      if (!isStream(request)) started.add(request);
    });
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
    if (message.text().endsWith('net::ERR_FAILED') && allowed.includes('net::ERR_FAILED')) return;
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
  { name: 'regions', path: '/regions' },
  { name: 'proof', path: '/proof/H100%20SXM?at=2026-11-12T21:00:00.000Z&grain=daily' },
  { name: 'memory', path: '/memory' },
  { name: 'tokens', path: '/tokens' },
  { name: 'workload', path: '/workload' },
  { name: 'coding', path: '/coding' },
  { name: 'sites', path: '/sites' },
  { name: 'settings', path: '/settings' },
  { name: 'plans', path: '/plans' },
  { name: 'methodology', path: '/methodology' },
  { name: 'corrections', path: '/corrections' },
  { name: 'status', path: '/status' },
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

/** Checks that the page is not wider than a phone, whatever in it is. */
export async function wantNoSidewaysScroll(page: Page): Promise<void> {
  await page.setViewportSize({ width: 390, height: 844 });
  // What measures itself, such as a chart, follows within two frames.
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
}
