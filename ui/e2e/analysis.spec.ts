// What charts do besides showing a price: compare, zoom with a window, mark what happened, and lead on.
import type { Page } from '@playwright/test';
import { wantNoViolation } from './axe';
import { expect, open, read, test } from './test';

const priceChart = (page: Page) => page.getByRole('region', { name: 'Price chart' });
const drawn = (page: Page) => priceChart(page).getByRole('img', { name: /· daily/ });

/** The newest daily value of a GPU model, and its low and high. */
async function newestOf(server: Parameters<typeof read>[0], gpu: string) {
  const query = 'startDate=2026-11-10&granularity=daily&order=desc&limit=1';
  const { data } = await read(
    server,
    `/api/gpu/${encodeURIComponent(gpu)}/history-range?${query}`,
    server.keys.premium,
  );
  return data[0] as { index_value: number; daily_stats: { min_index: number; max_index: number } };
}

for (const [width, colorScheme] of [
  [1440, 'light'],
  [1280, 'dark'],
  [390, 'dark'],
] as const) {
  test.describe(`at ${width}, ${colorScheme}`, () => {
    test.use({ viewport: { width, height: 900 }, colorScheme });

    test('two prices are compared as a ratio and as a spread', async ({ page, signIn, server }) => {
      await signIn('premium');
      await open(page, '/gpu/H100%20SXM?compare=H200');
      if (width === 390) await page.getByRole('button', { name: 'Chart settings' }).click();
      await page.getByRole('button', { name: 'Ratio' }).click();
      await expect(page).toHaveURL(/scale=ratio/);
      const [h100, h200] = [await newestOf(server, 'H100 SXM'), await newestOf(server, 'H200')];
      const ratio = Number((h100.index_value / h200.index_value).toFixed(4));
      await expect(drawn(page)).toHaveAccessibleName(new RegExp(`ratio of the prices .*H100 SXM / H200 ${ratio}\\.$`));
      await page.getByRole('button', { name: 'Spread' }).click();
      const less = (h200.index_value - h100.index_value).toFixed(4);
      await expect(drawn(page)).toHaveAccessibleName(new RegExp(`H100 SXM − H200 −\\$${less}\\.$`));
      await wantNoViolation(page);
    });
  });
}

test('the low and the high of each day are drawn around the price', async ({ page, signIn, server }) => {
  await signIn('premium');
  await open(page, '/gpu/H100%20SXM');
  await page.getByLabel('Low–high of the day').check();
  await expect(page).toHaveURL(/band=on/);
  await page.getByText('Show the points as a table').first().click();
  const { daily_stats } = await newestOf(server, 'H100 SXM');
  const newest = priceChart(page).getByRole('row').nth(1);
  for (const edge of [daily_stats.min_index, daily_stats.max_index])
    await expect(newest.getByRole('cell', { name: `$${edge.toFixed(4)}` })).toBeVisible();
  await page.getByRole('button', { name: '% from start' }).click();
  await expect(page.getByLabel('Low–high of the day')).toHaveCount(0); // it is about prices
});

test('a window over the whole history is moved with the keyboard and the pointer', async ({ page, signIn }) => {
  await signIn('premium');
  await open(page, '/gpu/H100%20SXM?range=1M');
  const start = page.getByRole('slider', { name: 'Start of the part shown' });
  await expect(start).toHaveAttribute('aria-valuetext', /^2026-10-1/);
  await start.focus();
  await start.press('Home');
  await expect(page).toHaveURL(/from=20\d\d-\d\d-\d\d/);
  await expect(drawn(page)).toHaveAccessibleName(/from 2025-0|from 2024/);
  await page.goBack();
  await expect(drawn(page)).toHaveAccessibleName(/from 2026-10-1/);
  const box = (await page.locator('.brush .window').boundingBox())!;
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  await page.mouse.down();
  await page.mouse.move(box.x - 200, box.y + box.height / 2, { steps: 4 });
  await page.mouse.up();
  await expect(page).toHaveURL(/from=.*&to=/);
  await expect(drawn(page)).not.toHaveAccessibleName(/to 2026-11-14/);
  await page.getByRole('button', { name: 'Reset zoom' }).click();
  await expect(drawn(page)).toHaveAccessibleName(/to 2026-11-14/);
});

test('a day without a value is marked, and leads to the notice', async ({ page }) => {
  await open(page, '/gpu/B200');
  await expect(page.locator('.marks > *')).not.toHaveCount(0);
  const notes = page.getByText(/^Notes on this range: \d+$/);
  await notes.focus();
  await page.keyboard.press('Enter');
  const note = page.getByRole('listitem').filter({ hasText: 'Thin day' }).first();
  await expect(note).toContainText(/have no value, because what counts is too little/);
  await wantNoViolation(page);
  await note.getByRole('link').press('Enter');
  await expect(page.getByRole('heading', { level: 2, name: 'Notices' })).toBeVisible();
  await expect(page.getByRole('main')).toContainText('B200, days of its series that end from 2026-09-27');
});

test('prices of all regions are side by side, and lead to their charts', async ({ page, signIn, server }) => {
  await signIn('premium');
  await open(page, '/');
  await page.getByRole('link', { name: 'Prices by region' }).click();
  const row = page.getByRole('row').filter({ has: page.getByRole('rowheader', { name: 'H100 SXM' }) });
  const { data } = await read(server, '/api/gpu-prices?region=us-east', server.keys.premium);
  const here = (data as { gpu_name: string; index_value: number }[]).find((one) => one.gpu_name === 'H100 SXM')!;
  const cell = row.getByRole('link', { name: `$${here.index_value.toFixed(4)}` });
  await expect(cell).toBeVisible();
  await page.getByRole('button', { name: '% from global' }).click();
  await expect(row.getByRole('link', { name: /^[+−]\d+\.\d\d%$/ })).not.toHaveCount(0);
  await row.locator('a[href$="region=us-east"]').click();
  await expect(page).toHaveURL(/\/gpu\/H100%20SXM\?region=us-east$/);
  await expect(drawn(page)).toHaveAccessibleName(/· us-east/);
});

test('the charts of other pages zoom, and have the same scales', async ({ page, signIn }) => {
  await signIn('premium');
  await open(page, '/memory?range=1M');
  const chart = page.getByRole('img', { name: /^Memory prices/ });
  await page.getByRole('button', { name: '% from start' }).click();
  await expect(chart).toHaveAccessibleName(/change since the start of the range .* [+−]?[\d.]+%/);
  await page.getByLabel('From (UTC)').fill('2026-11-02');
  await expect(chart).toHaveAccessibleName(/from 2026-11-02/);
  await expect(page).toHaveURL(/from=2026-11-02/);
  await page.goBack();
  await expect(chart).toHaveAccessibleName(/from 2026-10-1/);
  await page.goto('/memory?scale=index'); // an address of an earlier release
  await expect(chart).toHaveAccessibleName(/change since the start of the range/);
});

test('a view is shared as a link and its newest value as a citation', async ({ page, context }) => {
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await open(page, '/gpu/H100%20SXM?range=1M');
  await page.getByRole('button', { name: 'Share' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'Copy link' }).click();
  expect(await page.evaluate(() => navigator.clipboard.readText())).toMatch(/\/gpu\/H100%20SXM\?range=1M$/);
  await expect(dialog).toContainText(
    /H100 SXM \(global\), daily index, 2026-11-14 21:00 UTC: [\d.]+ USD per GPU-hour\. Assay, revision 0, methodology 2\.0\.0/,
  );
  await wantNoViolation(page);
});
