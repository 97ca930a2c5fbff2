// A reader does with the keyboard alone what charts and pages are for, in windows of three widths and in both schemes.
import type { Locator, Page } from '@playwright/test';
import { axe, violations } from './axe';
import { expect, open, test } from './test';

/** Focuses a control and presses a key on it. */
async function press(control: Locator, key = 'Enter'): Promise<void> {
  await control.focus();
  await expect(control).toBeFocused();
  await control.page().keyboard.press(key);
}

/** Goes to what the palette finds first. */
async function goTo(page: Page, words: string, heading: string): Promise<void> {
  await page.keyboard.press('Control+k');
  const palette = page.getByRole('dialog', { name: 'Search' });
  const field = palette.getByRole('combobox');
  await expect(field).toBeFocused();
  await field.fill(words);
  await expect(palette.getByRole('option', { selected: true })).toContainText(heading);
  await page.keyboard.press('Enter');
  await expect(page.getByRole('heading', { level: 1, name: heading })).toBeFocused();
}

for (const width of [1440, 1280, 390]) {
  for (const colorScheme of ['light', 'dark'] as const) {
    test.describe(`${width} wide, ${colorScheme}`, () => {
      test.use({ viewport: { width, height: width === 390 ? 844 : 900 }, colorScheme });

      test('a reader needs no mouse to compare, zoom, share and look around', async ({ page, signIn }) => {
        await signIn('premium');
        await open(page, '/');
        await goTo(page, 'h200', 'H200');
        await page.keyboard.press('3');
        await expect(page).toHaveURL(/range=1M/);
        await page.keyboard.press('?');
        await expect(page.getByRole('dialog')).toContainText('Ctrl');
        await page.keyboard.press('Escape');
        await expect(page.getByRole('dialog')).toHaveCount(0);

        const settings = page.getByRole('button', { name: 'Chart settings' });
        if (width === 390) await press(settings);
        await press(page.locator('summary', { hasText: 'Compare' }));
        await press(page.getByRole('checkbox', { name: 'B200' }), 'Space');
        await expect(page).toHaveURL(/compare=B200/);
        await press(page.getByRole('button', { name: 'Ratio' }));
        const chart = page.getByRole('img', { name: /ratio of the prices · daily/ });
        await expect(chart).toHaveAccessibleName(/at the end H200 \/ B200 0\.\d+\.$/);
        if (width === 390) {
          await press(page.getByRole('button', { name: 'Done' }));
          await expect(settings).toBeFocused();
        } else {
          await press(page.getByRole('slider', { name: 'Start of the part shown' }), 'Home');
          await expect(page).toHaveURL(/from=20\d\d-/);
          await press(page.getByRole('button', { name: 'Reset zoom' }));
          await expect(page).not.toHaveURL(/from=/);
        }
        await press(page.locator('summary', { hasText: 'Notes on this range' }));
        await page.evaluate(axe);
        expect(await violations(page)).toEqual([]);

        const share = page.getByRole('button', { name: 'Share' });
        await press(share);
        await expect(page.getByRole('dialog')).toContainText('/gpu/H200?range=1M&compare=B200&scale=ratio');
        await page.keyboard.press('Escape');
        await expect(share).toBeFocused();
        await press(page.getByRole('button', { name: 'Alert', exact: true }));
        const alert = page.getByRole('dialog', { name: 'Make an alert' });
        await expect(alert.locator('[name=gpu_type]')).toHaveValue('H200');
        await page.evaluate(axe);
        expect(await violations(page)).toEqual([]);
        await page.keyboard.press('Escape');

        await goTo(page, 'by region', 'Prices by region');
        await goTo(page, 'corrections', 'Corrections');
        await goTo(page, 'status', 'Status');
        expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
      });
    });
  }
}

test('an alert is made from the chart that it is about', async ({ page, signIn }) => {
  await signIn('full');
  const hook = { name: 'my service', url: 'http://127.0.0.1:9/hook' };
  const webhook = (
    (await (await page.request.post('/api/webhooks', { data: hook })).json()) as { data: { id: string } }
  ).data;
  await open(page, '/gpu/H100%20SXM?region=us-east&grain=hourly');
  await page.getByRole('button', { name: 'Alert', exact: true }).click();
  const alert = page.getByRole('dialog', { name: 'Make an alert' });
  await alert.getByLabel('Name, which is in every message').fill('H100 in the east');
  await alert.getByLabel('Threshold, USD per GPU-hour').fill('9.5');
  await expect(alert.getByLabel('Send to webhook')).toHaveValue(webhook.id);
  await alert.getByRole('button', { name: 'Create alert' }).click();
  await expect(page.getByRole('button', { name: 'Alert made' })).toBeVisible();
  const made = ((await (await page.request.get('/api/alerts')).json()) as { data: { id: string; name: string }[] })
    .data;
  const ours = made.find((one) => one.name === 'H100 in the east')!;
  expect(ours).toMatchObject({ gpu_type: 'H100 SXM', region: 'us-east', granularity: 'hourly', threshold: 9.5 });
  await page.request.delete(`/api/alerts/${ours.id}`);
  await page.request.delete(`/api/webhooks/${webhook.id}`);
});
