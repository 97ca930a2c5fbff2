import { execFileSync } from 'node:child_process';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import type { Page } from '@playwright/test';
import { wantCorrections } from './correctionlist';
import { copyOfData, now, program, remove, startDemo } from './server';
import { accountOf, expect, open, submitSignIn, test } from './test';

// The next hour has ended, and 40 prints were made.
const later = '2026-11-14T22:00:40Z';

/** A proxy on loopback, whose server can be replaced by another one. */
async function proxyTo(target: string) {
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const { hostname, port } = new URL(target);
    const upstream = connect(Number(port), hostname);
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(one);
      one.on('error', () => other.destroy());
      one.on('close', () => (sockets.delete(one), other.destroy()));
      one.pipe(other);
    }
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return {
    base: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    to: (next: string) => void (target = next),
    close: () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** Does what a browser does when its window is hidden or shown. */
const show = (page: Page, state: 'hidden' | 'visible') =>
  page.evaluate((state) => {
    Object.defineProperty(document, 'visibilityState', { configurable: true, value: state });
    document.dispatchEvent(new Event('visibilitychange'));
  }, state);

/** Notes the values that a page loads. What is computed from them is loaded again when there are new ones. */
function loadsOf(page: Page): string[] {
  const loads: string[] = [];
  page.on('request', (request) => {
    const { pathname } = new URL(request.url());
    if (/^\/api\/gpu.*(history|prices|realtime|types)/.test(pathname)) loads.push(pathname);
  });
  return loads;
}

test('prices tick, charts grow and restatements appear without a reload, and the page says how live it is', async ({
  browser,
  extraHTTPHeaders,
}) => {
  test.setTimeout(180_000); // it starts two servers
  const folder = copyOfData();
  const first = await startDemo(folder);
  const proxy = await proxyTo(first.server.base);
  const options = { baseURL: proxy.base, extraHTTPHeaders };
  // One reader without an account looks at the overview, another one with Full access at a GPU model.
  const contexts = await Promise.all([browser.newContext(options), browser.newContext(options)]);
  const [overview, gpu] = (await Promise.all(contexts.map((context) => context.newPage()))) as [Page, Page];
  for (const page of [overview, gpu]) await page.clock.setFixedTime(now);
  await submitSignIn(gpu, accountOf(first.server, 'full'));
  await expect(gpu).toHaveURL(/\/settings$/);

  await Promise.all([open(overview, '/'), open(gpu, '/gpu/H100%20SXM?range=1D')]);
  const card = overview.getByRole('region', { name: 'H100 SXM' });
  await expect(card).toContainText('hour to 2026-11-14 21:00 UTC');
  await expect(overview.getByText(/^Live · newest value .* old\. New daily values and hourly current/)).toBeVisible();
  const chart = gpu.getByRole('img', { name: /· hourly/ });
  const prints = gpu.getByRole('region', { name: 'Real time' });
  await expect(chart).toHaveAccessibleName(/to 2026-11-14 21:00 UTC/);
  await expect(prints).toContainText(/2026-11-14 21:\d\d UTC/);
  await expect(gpu.getByText(/^Live · .* one print a minute/)).toBeVisible();

  // While one page is hidden and the other one has the reader's pointer and focus, the server stops.
  const loads = [loadsOf(overview), loadsOf(gpu)];
  const charts = () => gpu.evaluate(() => performance.getEntriesByName('assay:chart').length);
  const height = async () => (await card.boundingBox())!.height;
  const before = { charts: await charts(), height: await height() };
  await chart.click();
  const tip = gpu.getByRole('group', { name: /^Values at/ });
  const kept = (await tip.getAttribute('aria-label'))!;
  const focused = gpu.getByRole('button', { name: 'Linear', exact: true });
  await focused.focus();
  await show(overview, 'hidden');
  await expect(overview.getByText(/^Paused · newest value/)).toBeVisible();
  await first.stop();
  await expect(gpu.getByText(/^Reconnecting · newest value/)).toBeVisible();

  // The next one continues its data 40 minutes later. Each page gets what it has missed, as it would have got it.
  const next = await startDemo(folder, later);
  proxy.to(next.server.base);
  await show(overview, 'visible');
  await expect(card).toContainText('hour to 2026-11-14 22:00 UTC');
  await expect(chart).toHaveAccessibleName(/to 2026-11-14 22:00 UTC/, { timeout: 60_000 });
  await expect(prints).toContainText(/2026-11-14 22:\d\d UTC/);
  // The newest print is also the figure of the page, and the end of its chart.
  const newest = (await prints.locator('.latest').textContent())!.trim();
  await expect(gpu.locator('.main-figure')).toContainText(`${newest} USD per GPU-hour · indicative`);
  await expect(tip).toHaveAccessibleName(kept);
  for (const page of [overview, gpu]) await expect(page.getByText(/^Live · /)).toBeVisible();
  expect(loads).toEqual([[], []]);
  expect({ charts: await charts(), height: await height() }).toEqual(before);
  await expect(focused).toBeFocused();

  // A restatement changes values of months ago, and they appear by themselves too.
  await gpu.getByRole('button', { name: '3M', exact: true }).click();
  const figures = gpu.getByLabel('H100 SXM in this range');
  await expect(gpu.getByRole('img', { name: /· daily, from 2026-08-1/ })).toBeVisible();
  const published = await figures.innerText();
  const period = ['--from', '2026-08-20', '--to', '2026-11-14'];
  const why = ['--reason', 'late rows', '--dir', folder];
  execFileSync(program, ['restate', '--gpu', 'H100 SXM', ...period, ...why]);
  await expect(figures).not.toHaveText(published, { useInnerText: true });
  // The chart marks what was restated, and each mark leads to its record.
  await gpu.getByText(/^Notes on this range: \d+$/).click();
  const note = gpu.getByRole('listitem').filter({ hasText: 'Restated' }).first();
  await expect(note).toContainText(/Restated from \$[\d.]+ to \$[\d.]+: late rows/);
  await expect(note.getByRole('link')).toHaveAttribute('href', /^\/proof\/H100%20SXM\?at=2026-.*&grain=daily$/);
  await expect(gpu.locator('.marks > *').first()).toBeVisible();
  await wantCorrections(gpu, next.server);

  await Promise.all(contexts.map((context) => context.close()));
  proxy.close();
  await next.stop();
  remove(folder);
});

test('a reader whose session ends sees what is left of the page and of the stream', async ({ page, server }) => {
  await submitSignIn(page, accountOf(server, 'member'));
  await expect(page).toHaveURL(/\/settings$/);
  await open(page, '/gpu/H100%20SXM');
  await expect(page.getByText(/^Live · .* one print a minute/)).toBeVisible();
  const prints = page.getByRole('region', { name: 'Real time' });
  await expect(prints).toContainText('UTC');

  const ended = await page.request.delete('/api/session'); // as another tab does
  expect(ended.status()).toBe(200);
  await expect(page.getByText(/^Live · .* of the free GPU models/)).toBeVisible();
  await expect(prints).toContainText('Full access');
});

test('a reader whose stream is refused sees why, and the page works', async ({ page, expectRefusals }) => {
  expectRefusals(429);
  await page.route('**/api/stream?*', (route) =>
    route.fulfill({ status: 429, headers: { 'Retry-After': '60' }, json: { error: 'Too many requests' } }),
  );
  await open(page, '/');
  await expect(page.getByText(/^Not live · newest value .* does not let the stream through/)).toBeVisible();
  await expect(page.getByRole('region', { name: 'H100 SXM' })).toContainText('$');
});
