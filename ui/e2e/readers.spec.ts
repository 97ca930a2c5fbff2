import type { Page } from '@playwright/test';
import type { ResponseBody } from '../src/lib/api';
import { expect, open, test } from './test';

/** Opens a page and lists its requests that a limit counts, except the stream, which stays open. */
async function limitedRequests(page: Page, path: string): Promise<string[]> {
  const paths: string[] = [];
  const note = (response: { url(): string; headers(): Record<string, string> }) => {
    const url = new URL(response.url());
    if (response.headers().ratelimit && url.pathname !== '/api/stream') paths.push(url.pathname + url.search);
  };
  page.on('response', note);
  await open(page, path);
  page.off('response', note);
  return paths;
}

/** Sends requests as the page does, so many times, and returns each status that came back and the least that remained. */
const repeat = (page: Page, paths: string[], times: number) =>
  page.evaluate(
    async ([paths, times]) => {
      const statuses = new Set<number>();
      let least = Infinity;
      for (let i = 0; i < times; i++) {
        for (const response of await Promise.all(paths.map((path) => fetch(path, { cache: 'no-store' })))) {
          statuses.add(response.status);
          least = Math.min(least, Number(/r=(\d+)/.exec(response.headers.get('RateLimit') ?? '')?.[1]));
          await response.arrayBuffer();
        }
      }
      return { statuses: [...statuses], least };
    },
    [paths, times] as const,
  );

// The pages with the most requests, as a reader sees them who opens them again and again, without the page's own cache.
test('sixty views in a minute by one signed-in reader see no 429', async ({ page, signIn }) => {
  await signIn('member'); // no other test needs what this one uses up
  for (const path of ['/', '/gpu/H100%20SXM?compare=H200,B200', '/coding', '/settings']) {
    const paths = await limitedRequests(page, path);
    expect(paths.length).toBeGreaterThan(0);
    expect(paths.length).toBeLessThan(20); // sixty times as many fit into the budget of a session
  }
  // In turn, as one reader would: each is opened fifteen times.
  for (const path of ['/', '/gpu/H100%20SXM?compare=H200,B200', '/coding', '/settings']) {
    const { statuses, least } = await repeat(page, await limitedRequests(page, path), 14);
    expect(statuses).toEqual([200]);
    expect(least).toBeGreaterThan(0);
  }
});

test('a visitor who is refused keeps the last prices in sight, and gets new ones', async ({ page, expectRefusals }) => {
  const paths = await limitedRequests(page, '/');
  expect(paths).toEqual(['/api/gpu-overview']); // the prices cost one request
  const { statuses } = await repeat(page, paths, 20); // twenty more views
  expect(statuses).toEqual([200]);

  const h200 = page.getByRole('region', { name: 'GPU prices' }).getByRole('row').filter({ hasText: 'H200' });
  const shown = (await h200.locator('strong').innerText()).trim();
  expectRefusals(429);
  await repeat(page, paths, 60);
  await page.reload();
  await expect(page.getByText('These are the last values that were loaded.')).toBeVisible();
  await expect(h200).toContainText(shown);
});

test('a reader whose session cannot be read sees no paywall, and is asked for later', async ({
  page,
  signIn,
  expectRefusals,
}) => {
  await signIn('full');
  expectRefusals(503);
  let away = true;
  await page.route('**/api/session', (route) =>
    away ? route.fulfill({ status: 503, json: { error: 'Service unavailable', message: 'Away.' } }) : route.continue(),
  );
  for (const path of ['/sites', '/memory', '/settings']) {
    await page.goto(path);
    await expect(page.getByRole('alert')).toContainText('We do not know yet whether you are signed in. Away.');
    await expect(page.getByRole('main').getByRole('link', { name: 'See plans' })).toHaveCount(0);
    await expect(page.getByRole('link', { name: 'Sign in' })).toHaveCount(0);
  }
  away = false;
  await page.getByRole('button', { name: 'Try again' }).click();
  await expect(page.getByRole('navigation', { name: 'Sections' })).toBeVisible();
  await expect(page.getByRole('alert')).toHaveCount(0);

  // Without a click, after a pause. A failure later on signs no one out.
  away = true;
  await page.goto('/memory');
  await expect(page.getByRole('alert')).toBeVisible();
  away = false;
  await expect(page.getByRole('checkbox', { name: /in the chart$/ }).first()).toBeVisible();
  const response: ResponseBody<'/api/session'> = await (await page.request.get('/api/session')).json();
  expect(response.data.account?.tier).toBe('full');
});

test('what was loaded for another choice does not stand in for what is refused', async ({
  page,
  signIn,
  expectRefusals,
}) => {
  await signIn('premium');
  await open(page, '/workload');
  const chart = page.getByRole('img', { name: /^Anthropic: Cost per request/ });
  await expect(chart).toBeVisible();
  expectRefusals(429);
  await page.route(/\/api\/workload\?.*lab=openai/, (route) =>
    route.fulfill({ status: 429, headers: { 'Retry-After': '50' }, json: { message: 'Retry in 50 seconds.' } }),
  );
  await page.getByLabel('Lab').selectOption('OpenAI');
  await expect(page.getByRole('alert').first()).toContainText('Too many requests. Retry in 50 seconds.');
  await expect(page.getByRole('img', { name: /Cost per request/ })).toHaveCount(0);
  await expect(page.getByText('These are the last values')).toHaveCount(0);
});
