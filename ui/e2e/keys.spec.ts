import type { Page } from '@playwright/test';
import { wantNoViolation } from './axe';
import { expect, makeAccount, open, submitSignIn, test } from './test';

const paletteOf = (page: Page) => page.getByRole('dialog', { name: 'Search' });
const fieldOf = (page: Page) => paletteOf(page).getByRole('combobox');

test('Ctrl-K finds a GPU model, a page and a route, and gives the focus back', async ({ page }) => {
  await open(page, '/plans');
  await page.keyboard.press('Control+k');
  await expect(fieldOf(page)).toBeFocused();
  await expect(paletteOf(page).getByRole('option').first()).toHaveText(/^Overview/);
  await fieldOf(page).fill('a100 sxm4');
  await expect(paletteOf(page).getByRole('option').first()).toContainText('A100 SXM4');
  await page.keyboard.press('Enter');
  await expect(page).toHaveURL(/\/gpu\/A100%20SXM4$/);
  await expect(page.getByRole('heading', { level: 1 })).toBeFocused();

  await page.keyboard.press('Control+k');
  await fieldOf(page).fill('correction');
  await expect(paletteOf(page).getByRole('option', { name: /Values that were restated/ })).toBeVisible();
  const options = paletteOf(page).getByRole('option');
  await expect(options.first()).toHaveAttribute('aria-selected', 'true');
  await page.keyboard.press('ArrowUp'); // around to the last one
  await expect(options.last()).toHaveAttribute('aria-selected', 'true');
  await expect(fieldOf(page)).toHaveAttribute('aria-activedescendant', (await options.last().getAttribute('id'))!);
  await page.keyboard.press('ArrowDown');
  await expect(options.first()).toHaveAttribute('aria-selected', 'true');
  await fieldOf(page).fill('no such thing');
  await expect(paletteOf(page).getByText('Nothing matches.')).toBeVisible();
  await page.keyboard.press('Enter');
  await page.keyboard.press('Escape');
  await expect(paletteOf(page)).toBeHidden();

  const button = page.getByRole('banner').getByRole('button', { name: /^Search/ });
  await button.focus();
  await page.keyboard.press('Enter');
  await expect(fieldOf(page)).toBeFocused();
  await page.keyboard.press('Escape');
  await expect(button).toBeFocused();
});

test('the palette says what is locked, and acts for the reader', async ({ page, signIn }) => {
  await open(page, '/plans');
  await page.keyboard.press('Control+k');
  await fieldOf(page).fill('ddr5');
  await expect(paletteOf(page).getByRole('option').first()).toContainText('Available with Premium');
  await fieldOf(page).fill('log out'); // which a visitor cannot
  await expect(paletteOf(page).getByRole('option', { name: /Action$/ })).toHaveCount(0);
  await fieldOf(page).fill('log in');
  await expect(paletteOf(page).getByRole('option', { name: /^Sign in Action$/ })).toBeVisible();
  await fieldOf(page).fill('dark');
  await page.keyboard.press('Enter');
  await expect(page.locator('html')).toHaveAttribute('data-scheme', 'dark');

  await signIn('premium');
  await open(page, '/plans');
  await page.keyboard.press('Control+k');
  await fieldOf(page).fill('ddr5');
  await expect(paletteOf(page).getByRole('option').first()).not.toContainText('Available');
  await fieldOf(page).fill('second factor');
  await page.keyboard.press('Enter');
  await expect(page.getByRole('heading', { name: 'Second factor' })).toBeFocused();
});

test('the palette finds what the reader has saved', async ({ page, server }) => {
  await submitSignIn(page, await makeAccount(server, 'palette@demo.example'));
  await expect(page).toHaveURL(/\/settings$/);
  const view = { name: 'Last month of mine', path: '/gpu/H200?range=1M' };
  expect((await page.request.post('/api/views', { data: view })).status()).toBe(201);
  await open(page, '/plans');
  await page.keyboard.press('Control+k');
  await expect(paletteOf(page).getByRole('option').first()).toContainText(view.name);
  await fieldOf(page).fill('mine month');
  await page.keyboard.press('Enter');
  await expect(page).toHaveURL(view.path);
});

test('single keys choose a range, filter and list the keys, and can be turned off', async ({ page, signIn }) => {
  await signIn('premium');
  await open(page, '/gpu/H100%20SXM');
  await page.keyboard.press('3'); // 1D, 1W, 1M
  await expect(page).toHaveURL(/range=1M/);
  await page.keyboard.press('/'); // there is no filter here
  await expect(fieldOf(page)).toBeFocused();
  await page.keyboard.type('h2?1/');
  await expect(fieldOf(page)).toHaveValue('h2?1/');
  await page.keyboard.press('Escape');
  await expect(paletteOf(page)).toBeHidden();
  await expect(page).toHaveURL(/range=1M/);

  await open(page, '/memory');
  await page.keyboard.press('2'); // 1W, 1M
  await expect(page).toHaveURL(/range=1M/);
  await page.keyboard.press('/');
  const filter = page.getByRole('searchbox', { name: 'Filter types' });
  await expect(filter).toBeFocused();
  await page.keyboard.type('5?');
  await expect(filter).toHaveValue('5?');
  await filter.fill('');
  await filter.blur();

  await page.keyboard.press('?');
  const keys = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
  await keys.getByRole('checkbox', { name: 'Single-character keys' }).press('Space');
  await page.keyboard.press('Escape');
  await expect(keys).toBeHidden();
  await page.reload();
  await expect(page.getByRole('button', { name: '1M', pressed: true })).toBeVisible();
  for (const key of ['3', '?', '/']) await page.keyboard.press(key);
  await page.keyboard.press('Control+k'); // comes after them, and still works
  await expect(fieldOf(page)).toBeFocused();
  await expect(page).toHaveURL(/range=1M/);
  await expect(keys).toBeHidden();
  await fieldOf(page).fill('shortcuts');
  await page.keyboard.press('Enter');
  await keys.getByRole('checkbox', { name: 'Single-character keys' }).press('Space');
  await page.keyboard.press('Escape');
  await expect(keys).toHaveCount(0);
  await page.keyboard.press('4');
  await expect(page).not.toHaveURL(/range=1M/);
});

test('a link skips to the chart', async ({ page }) => {
  await open(page, '/gpu/H100%20SXM');
  await page.keyboard.press('Tab');
  await expect(page.getByRole('link', { name: 'Skip to content' })).toBeFocused();
  await page.keyboard.press('Tab');
  await expect(page.getByRole('link', { name: 'Skip to chart' })).toBeFocused();
  await page.keyboard.press('Enter');
  await expect(page.getByRole('slider', { name: /^Point of the chart/ }).first()).toBeFocused();
  await open(page, '/plans');
  await expect(page.getByRole('link', { name: 'Skip to chart' })).toHaveCount(0);
});

for (const [width, height] of [
  [1440, 900],
  [1280, 800],
  [390, 844],
] as const) {
  test(`the palette and the list of keys have no violation, ${width} wide`, async ({ page }) => {
    await page.setViewportSize({ width, height });
    await open(page, '/plans');
    await page
      .getByRole('banner')
      .getByRole('button', { name: /^Search/ })
      .click();
    await fieldOf(page).fill('h');
    await expect(paletteOf(page).getByRole('option', { name: /^H100 SXM/ })).toBeVisible();
    await wantNoViolation(page);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
    await page.keyboard.press('Escape');
    await expect(paletteOf(page)).toHaveCount(0);
    await page.keyboard.press('?');
    await expect(page.getByRole('dialog', { name: 'Keyboard shortcuts' })).toBeVisible();
    await wantNoViolation(page);
  });
}
