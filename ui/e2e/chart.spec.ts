import { readFileSync } from 'node:fs';
import type { Locator, Page } from '@playwright/test';
import { expect, open, test } from './test';

const priceChart = (page: Page) => page.getByRole('region', { name: 'Price chart' });
const drawn = (page: Page) => priceChart(page).getByRole('img', { name: /· (hourly|daily)/ });
const tip = (page: Page) => priceChart(page).getByRole('group', { name: /^Values at/ });

/** Where a part of a chart is on the page: 0 is its left and upper edge, 1 its right and lower one. */
async function spot(chart: Locator, x: number, y: number) {
  const box = (await chart.locator('.u-over').boundingBox())!;
  return { x: box.x + box.width * x, y: box.y + box.height * y };
}

/** The words that the charts of the next page draw: their axes, and what is written on saved pictures. */
async function wordsOf(page: Page): Promise<() => Promise<string[]>> {
  await page.addInitScript(() => {
    const words: string[] = [];
    Object.assign(window, { words });
    const { fillText } = CanvasRenderingContext2D.prototype;
    CanvasRenderingContext2D.prototype.fillText = function (...args) {
      words.push(args[0]);
      fillText.apply(this, args);
    };
  });
  return () => page.evaluate(() => (window as unknown as { words: string[] }).words);
}

async function drag(page: Page, from: number, to: number) {
  const start = await spot(drawn(page), from, 0.5);
  const end = await spot(drawn(page), to, 0.5);
  await page.mouse.move(start.x, start.y);
  await page.mouse.down();
  await page.mouse.move(end.x, end.y, { steps: 5 });
  await page.mouse.up();
}

test('a zoom into a day of hours keeps the hours; Back, a button and a double click undo it', async ({
  page,
  signIn,
}) => {
  await signIn('full');
  await open(page, '/gpu/H100%20SXM?range=1D');
  await expect(drawn(page)).toHaveAccessibleName(/· hourly, from 2026-11-13 20:00 UTC to 2026-11-14 21:00 UTC/);
  await drag(page, 0.5, 0.75);
  const zoomed = /· hourly, from 2026-11-14 0[89]:00 UTC to 2026-11-14 1[45]:00 UTC/;
  await expect(drawn(page)).toHaveAccessibleName(zoomed);
  await expect(page).toHaveURL(/from=2026-11-14T0[89]%3A00Z&to=2026-11-14T1[45]%3A00Z/);
  await expect(page.getByLabel('From (UTC)')).toHaveValue(/^2026-11-14T0[89]:00$/);
  await page.reload();
  await expect(drawn(page)).toHaveAccessibleName(zoomed);

  await page.goBack();
  await expect(drawn(page)).toHaveAccessibleName(/from 2026-11-13 20:00 UTC/);
  await page.goForward();
  await expect(drawn(page)).toHaveAccessibleName(zoomed);
  await page.getByRole('button', { name: 'Reset zoom' }).click();
  await expect(drawn(page)).toHaveAccessibleName(/· hourly, from 2026-11-13 20:00 UTC/);

  // Between two points there is nothing to see: both are shown.
  await drag(page, 0.5, 0.51);
  await expect(drawn(page)).toHaveAccessibleName(/from 2026-11-14 08:00 UTC to 2026-11-14 09:00 UTC/);
  const middle = await spot(drawn(page), 0.5, 0.5);
  await page.mouse.dblclick(middle.x, middle.y);
  await expect(drawn(page)).toHaveAccessibleName(/from 2026-11-13 20:00 UTC/);
  await expect(page).not.toHaveURL(/from=/);
});

test('a click keeps a point and its values, and leads to the proof only from there', async ({ page }) => {
  await open(page, '/gpu/H100%20SXM?range=1W&compare=H200');
  const middle = await spot(drawn(page), 4 / 7, 0.5);
  await page.mouse.click(middle.x, middle.y);
  await expect(tip(page)).toHaveAccessibleName('Values at 2026-11-11 21:00 UTC (16:00 New York fixing)');
  await expect(tip(page)).toContainText(/H100 SXM\$\d\.\d{4}.*H200\$\d\.\d{4}/);
  expect(page.url()).toContain('/gpu/');

  const elsewhere = await spot(drawn(page), 0.9, 0.2);
  await page.mouse.move(elsewhere.x, elsewhere.y); // a kept point does not follow the pointer
  await expect(tip(page)).toHaveAccessibleName(/2026-11-11/);
  await page.keyboard.press('Escape');
  await expect(tip(page)).toBeHidden();

  await page.mouse.click(middle.x, middle.y);
  await tip(page).getByRole('button', { name: 'Open proof of H200' }).click();
  await expect(page).toHaveURL(/\/proof\/H200\?at=2026-11-11T21%3A00%3A00\.000Z&grain=daily$/);
  await page.goBack();
  await expect(drawn(page)).toBeVisible();
});

test('a color belongs to a GPU model, and a comparison keeps the model that was shown before', async ({ page }) => {
  const legend = (name: string) => page.locator('figcaption .value').filter({ hasText: name }).locator('i');
  const colorOf = async (name: string) => (await legend(name).getAttribute('style')) ?? '';

  await open(page, '/gpu/H100%20SXM?compare=H200,B200');
  const before = { h200: await colorOf('H200'), b200: await colorOf('B200') };
  expect(new Set([await colorOf('H100 SXM'), before.h200, before.b200]).size).toBe(3);

  await page.getByText('Compare (2)').click();
  await page.getByRole('checkbox', { name: 'H200' }).uncheck();
  await expect(legend('H200')).toHaveCount(0);
  expect(await colorOf('B200')).toBe(before.b200);

  await page.getByRole('combobox', { name: /^GPU/ }).selectOption('H200');
  await expect(page).toHaveURL(/\/gpu\/H200\?compare=H100\+SXM%2CB200$/);
  await expect(drawn(page)).toHaveAccessibleName(/^H200, H100 SXM, B200/);
  expect({ h200: await colorOf('H200'), b200: await colorOf('B200') }).toEqual(before);
});

test('the header names the region, and a day of daily values has days on its axis', async ({ page }) => {
  const words = await wordsOf(page);
  await open(page, '/gpu/H100%20SXM?region=us-east&range=1D');
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('H100 SXM in us-east');
  await expect(drawn(page)).toHaveAccessibleName(/· daily · us-east, from 2026-11-13 21:00 UTC .* to 2026-11-14 21:00/);
  expect(await words()).toContain('Nov 14');
  expect((await words()).filter((word) => /\d\d:\d\d/.test(word))).toEqual([]);

  await open(page, '/gpu/H100%20SXM?from=2026-11-12&to=2026-11-12');
  await expect(drawn(page)).toHaveAccessibleName(/from 2026-11-12 21:00 UTC .* to 2026-11-12 21:00 UTC/);
  const days = (await words()).filter((word) => /^\w{3} \d|^20\d\d$/.test(word));
  expect(new Set(days)).toEqual(new Set(['Nov 12', '2026', 'Nov 13']));
});

test('the change since the start of the range can be compared', async ({ page }) => {
  const words = await wordsOf(page);
  await open(page, '/gpu/H100%20SXM?range=1M&compare=H200');
  await page.getByRole('button', { name: '% from start' }).click();
  await expect(page).toHaveURL(/scale=percent/);
  await expect(drawn(page)).toHaveAccessibleName(/at the end H100 SXM [+−][\d.]+%, H200 [+−][\d.]+%\.$/);
  expect((await words()).slice(-10).filter((word) => word.includes('$'))).toEqual([]); // the axis and the tags follow
  const figures = page.getByLabel('H100 SXM in this range');
  const change = (await figures.locator('dd').first().textContent())!;
  await expect(drawn(page)).toHaveAccessibleName(new RegExp(`H100 SXM ${change.replace('+', '[+]')},`));
});

test('a picture says where it comes from', async ({ page, signIn }) => {
  await signIn('full');
  const words = await wordsOf(page);
  await open(page, '/gpu/H100%20SXM?range=1W');
  const picture = page.waitForEvent('download');
  await page.getByRole('button', { name: 'PNG of the chart' }).first().click();
  const saved = await picture;
  expect(saved.suggestedFilename()).toBe('assay-H100_SXM-daily.png');
  expect(
    readFileSync(await saved.path())
      .subarray(1, 4)
      .toString(),
  ).toBe('PNG');
  expect(await words()).toContain('Assay · methodology 2.0.0 · synthetic data: not market prices');
  expect(await words()).toContain(page.url());
});

test.describe('on a phone', () => {
  test.use({ viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });

  test('the chart is in the first view, two fingers zoom it, and a tap keeps a point', async ({ page }) => {
    await open(page, '/gpu/H100%20SXM?range=1W');
    const chart = drawn(page);
    const box = (await chart.boundingBox())!;
    expect(box.y).toBeLessThan(480);
    await expect(page.getByText(/^Zoom with two fingers/)).toBeVisible();
    await expect(page.getByText(/^Drag to zoom in/)).toBeHidden();
    for (const button of await priceChart(page).getByRole('button').all()) {
      const { width, height } = (await button.boundingBox())!;
      expect([height >= 40, width >= 40], (await button.textContent())!).toEqual([true, true]);
    }

    const tapped = await spot(chart, 4 / 7, 0.5);
    await page.touchscreen.tap(tapped.x, tapped.y);
    await expect(tip(page)).toHaveAccessibleName(/Values at 2026-11-11/);
    await expect(tip(page).getByRole('button', { name: 'Open proof of H100 SXM' })).toBeVisible();
    await tip(page).getByRole('button', { name: 'Close' }).click();

    const fingers = await page.context().newCDPSession(page);
    const touch = async (type: 'touchStart' | 'touchMove' | 'touchEnd', ...parts: number[]) => {
      const spots = await Promise.all(parts.map((part) => spot(chart, part, 0.5)));
      const touchPoints = spots.map(({ x, y }, id) => ({ x, y, id }));
      await fingers.send('Input.dispatchTouchEvent', { type, touchPoints });
    };
    await touch('touchStart', 0.4);
    await touch('touchStart', 0.4, 0.6);
    await touch('touchMove', 0.25, 0.75);
    await touch('touchMove', 0.1, 0.9);
    await touch('touchEnd');
    await expect(page).toHaveURL(/from=2026-11-1[01]&to=2026-11-1[12]$/);
    await expect(chart).toHaveAccessibleName(/from 2026-11-1[01] .* to 2026-11-1[12] /);
    await page.goBack();
    await expect(chart).toHaveAccessibleName(/from 2026-11-07 /);
  });

  test('what a table has beyond the edge is announced', async ({ page, signIn }) => {
    await signIn('premium');
    await open(page, '/memory');
    await expect(page.getByText('More columns: scroll sideways')).toBeVisible();
    const box = (await page.getByRole('columnheader', { name: 'Price' }).getByRole('button').boundingBox())!;
    expect(box.height).toBeGreaterThanOrEqual(40);
    await page.setViewportSize({ width: 1440, height: 900 });
    await expect(page.getByText('More columns: scroll sideways')).toBeHidden();
  });

  test('the settings of the chart are in a sheet', async ({ page }) => {
    await open(page, '/gpu/H100%20SXM');
    await page.getByRole('button', { name: 'Chart settings' }).click();
    const sheet = page.getByRole('dialog', { name: 'Chart settings' });
    await sheet.getByText('Compare').click();
    await sheet.getByRole('checkbox', { name: 'H200' }).check();
    await sheet.getByRole('button', { name: 'Done' }).click();
    await expect(drawn(page)).toHaveAccessibleName(/^H100 SXM, H200/);
  });
});
