import { test as base, expect, type Cookie, type Page } from '@playwright/test';
import { copyOfMarket, now, remove, startDemo, type Server } from './server';

/** What every test has at hand. */
interface Fixtures {
  /** Lets the named statuses pass as console errors: the test makes the server refuse something. */
  expectRefusals: (...statuses: number[]) => void;
  /** Has the browser signed in when the next page is opened. */
  signIn: (who: 'free' | 'trial' | 'premium' | 'full' | 'member') => Promise<void>;
}

let clients = 0;

// Signing in is limited, so a worker does it once for each account; how it goes in the browser has a test of its own.
const signedIn = new Map<string, Cookie[]>();

// Every page of every test is watched: an error in the console or a request to another host fails the test.
export const test = base.extend<Fixtures, { server: Server }>({
  server: [
    async ({}, use) => {
      const server = await startDemo(copyOfMarket());
      await use(server);
      await server.stop();
      remove(server.folder);
    },
    { scope: 'worker' },
  ],
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
    const wrong: string[] = [];
    watch(page, server.base, wrong);
    // The browser lives at the server's moment, on whatever day the test runs. A bench measures with the real clock.
    if (info.project.name !== 'bench') await page.clock.setFixedTime(now);
    await use(page);
    expect(wrong).toEqual([]);
  },
  signIn: async ({ page, server }, use) => {
    await use(async (who) => {
      const account = server.keys.accounts.find((candidate) => candidate.email.startsWith(`${who}@`))!;
      let cookies = signedIn.get(account.email);
      if (!cookies) {
        const answer = await page.request.post('/api/session', {
          data: { email: account.email, password: account.password },
        });
        expect(answer.status()).toBe(200);
        cookies = await page.context().cookies();
        signedIn.set(account.email, cookies);
      }
      await page.context().addCookies(cookies);
    });
  },
});

const allowed: number[] = [];

/** Fills in and sends the sign-in form. */
export async function enter(page: Page, server: Server, who: string, password?: string): Promise<void> {
  const account = server.keys.accounts.find((candidate) => candidate.email.startsWith(`${who}@`))!;
  await page.goto('/signin');
  await page.getByLabel('Email').fill(account.email);
  await page.getByLabel('Password', { exact: true }).fill(password ?? account.password);
  await page.getByRole('main').getByRole('button', { name: 'Sign in', exact: true }).click();
}

function watch(page: Page, own: string, wrong: string[]): void {
  page.on('console', (message) => {
    const refused = /status of (\d+)/.exec(message.text());
    if (refused && allowed.includes(Number(refused[1]))) return;
    if (message.type() === 'error' || message.type() === 'warning') wrong.push(`console: ${message.text()}`);
  });
  page.on('pageerror', (error) => wrong.push(`error: ${error.message}`));
  page.on('request', (request) => {
    if (!request.url().startsWith(own) && !/^(data|blob):/.test(request.url()))
      wrong.push(`request to ${request.url()}`);
  });
}

export { expect };

/** Every page, as it is opened to be checked and to be pictured. */
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

/** Opens a page and waits until nothing is on its way any more. */
export async function open(page: Page, path: string): Promise<void> {
  await page.goto(path);
  await page.waitForLoadState('networkidle');
  await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
  await expect(page.locator('[aria-busy="true"], .skeleton')).toHaveCount(0);
}
