import type { Browser, Page } from '@playwright/test';
import { wantNoViolation } from './axe';
import { accountOf, expect, makeAccount, open, test, wantNoSidewaysScroll, watch, type Credentials } from './test';
import { now, type Server } from './server';

/** Opens a window of its own, signed in as an account. */
async function windowOf(browser: Browser, server: Server, { email, password }: Credentials, address: string) {
  const context = await browser.newContext({
    baseURL: server.base,
    viewport: { width: 1280, height: 900 },
    extraHTTPHeaders: { 'X-Forwarded-For': address },
  });
  const page = await context.newPage();
  const problems: string[] = [];
  watch(page, server.base, problems);
  await page.clock.setFixedTime(now);
  expect((await page.request.post('/api/session', { data: { email, password } })).status()).toBe(200);
  return { page, problems };
}

/** The names of the GPU models in the table of the overview, in its order. */
const modelsOf = (page: Page) => page.getByRole('table', { name: 'GPU prices' }).locator('td.name').allInnerTexts();

/** Presses Tab until a control has the focus. */
async function tabTo(page: Page, name: string) {
  const wanted = page.getByRole('button', { name, exact: true });
  for (let presses = 0; presses < 60; presses++) {
    await page.keyboard.press('Tab');
    if (await wanted.evaluate((element) => element === document.activeElement)) return;
  }
  throw new Error(`${name} cannot be reached with Tab`);
}

test('what an account keeps: by keyboard, on another device, and for no one else', async ({ browser, server }) => {
  const ann = await makeAccount(server, 'ann-keeps@example.com');
  const { page, problems } = await windowOf(browser, server, ann, '10.252.0.1');
  await open(page, '/');

  // The whole path by keyboard: two models, the list of them, and its order, which is that in which they were chosen.
  await tabTo(page, 'Watch H200');
  await page.keyboard.press('Enter');
  await expect(page.getByRole('button', { name: 'Stop watching H200' })).toBeFocused();
  await expect(page.getByRole('button', { name: 'Stop watching H200' })).toHaveAttribute('aria-pressed', 'true');
  await page.getByRole('heading', { name: /^GPU prices/ }).evaluate((heading: HTMLElement) => {
    heading.tabIndex = -1;
    heading.focus();
  });
  await tabTo(page, 'Watch A100 SXM4');
  await page.keyboard.press('Space');
  await expect(page.getByRole('button', { name: 'Stop watching A100 SXM4' })).toBeFocused();
  await page.keyboard.press('Shift+Tab');
  await page.getByRole('button', { name: 'Watchlist', exact: true }).focus();
  await page.keyboard.press('Enter');
  await expect(page).toHaveURL(/\/\?show=watchlist$/);
  await expect.poll(() => modelsOf(page)).toEqual(['H200', 'A100 SXM4']);

  // Light and dark, at three widths.
  await wantNoViolation(page);
  await wantNoSidewaysScroll(page);
  const box = (await page.getByRole('button', { name: 'Stop watching H200' }).boundingBox())!;
  expect(box.x).toBeGreaterThanOrEqual(0);
  await page.setViewportSize({ width: 1440, height: 900 });

  // A view of a chart, saved by keyboard from the page of a model.
  await open(page, '/gpu/H200?range=1M&compare=A100%20SXM4');
  await page.getByRole('button', { name: 'Save view' }).focus();
  await page.keyboard.press('Enter');
  const dialog = page.getByRole('dialog', { name: 'Save this view' });
  const name = dialog.getByLabel('Name');
  await expect(name).toBeFocused();
  await expect(name).toHaveValue('H200, A100 SXM4 · 1M');
  await name.fill('Hopper against Ampere');
  await page.keyboard.press('Enter');
  await expect(dialog).toBeHidden();
  await expect(page.getByRole('button', { name: 'View saved' })).toBeFocused();
  await expect(page.getByText('Hopper against Ampere is saved.')).toBeAttached();

  // The same name again is refused at its field, and nothing that was typed is lost.
  await page.keyboard.press('Enter');
  await expect(dialog.getByText('You have saved this view before, as Hopper against Ampere.')).toBeVisible();
  await name.fill('Hopper against Ampere');
  problems.length = 0;
  await page.keyboard.press('Enter');
  await expect(name).toHaveAccessibleDescription('There is a saved view with this name already.');
  await expect(name).toBeFocused();
  await expect(name).toHaveValue('Hopper against Ampere');
  expect(problems.splice(0)).toEqual([expect.stringContaining('409')]);
  await wantNoViolation(page);
  await wantNoSidewaysScroll(page);
  await page.keyboard.press('Escape');

  // Another device of the same account shows the same, and takes the model from the list while this page is open.
  const phone = await windowOf(browser, server, ann, '10.252.0.2');
  await phone.page.setViewportSize({ width: 390, height: 844 });
  await open(phone.page, '/gpu/H200');
  const star = phone.page.getByRole('button', { name: 'Stop watching H200' });
  await expect(star).toBeVisible();
  await star.click();
  await expect(phone.page.getByRole('button', { name: 'Watch H200', exact: true })).toBeVisible();
  await open(phone.page, '/settings#saved-views');
  await phone.page.getByRole('link', { name: 'Hopper against Ampere' }).click();
  await expect(phone.page).toHaveURL('/gpu/H200?range=1M&compare=A100+SXM4');
  await wantNoSidewaysScroll(phone.page);

  // This page still has the older list. Its change keeps that of the other device.
  await open(page, '/gpu/B200');
  await page.getByRole('button', { name: 'Watch B200', exact: true }).click();
  await expect(page.getByRole('button', { name: 'Stop watching B200' })).toBeVisible();
  expect(problems.filter((problem) => !problem.includes('409'))).toEqual([]);
  problems.length = 0;
  await open(page, '/?show=watchlist');
  await expect.poll(() => modelsOf(page)).toEqual(['A100 SXM4', 'B200']);

  // Another account sees none of it.
  const other = await windowOf(browser, server, accountOf(server, 'free'), '10.252.0.3');
  await open(other.page, '/?show=watchlist');
  await expect(other.page.getByText('Your watchlist is empty.')).toBeVisible();
  await open(other.page, '/settings');
  const section = (of: Page) => of.getByRole('region', { name: 'Saved views' });
  await expect(section(other.page)).toContainText('You have no saved view yet.');
  const view = (await (await page.request.get('/api/views')).json()).data[0].id;
  expect((await other.page.request.delete(`/api/views/${view}`)).status()).toBe(404);

  // Signed out, nothing is left on the page.
  await page.getByRole('button', { name: 'Sign out' }).click();
  await expect(page.getByRole('link', { name: 'Sign in', exact: true })).toBeVisible();
  await expect(page.getByRole('button', { name: /atch/ })).toHaveCount(0);

  await open(phone.page, '/settings#saved-views');
  await section(phone.page).getByRole('button', { name: 'Delete Hopper against Ampere' }).click();
  await expect(section(phone.page)).toContainText('You have no saved view yet.');
  expect([...problems, ...phone.problems, ...other.problems]).toEqual([]);
  for (const { page: used } of [{ page }, phone, other]) await used.context().close();
});

test('a change that fails is not lost, and visitors find the way to an account', async ({
  page,
  server,
  expectRefusals,
}) => {
  // A visitor is led to the sign-in and back, and sees no control that does nothing.
  await page.setViewportSize({ width: 390, height: 844 });
  await open(page, '/?show=watchlist');
  await expect(page.getByRole('button', { name: /atch/ })).toHaveCount(0);
  expect((await modelsOf(page)).length).toBeGreaterThan(3);
  await open(page, '/gpu/H200?range=1M');
  await expect(page.getByRole('link', { name: 'Save view (sign in first)' })).toBeVisible();
  await page.getByRole('link', { name: 'Sign in to watch H200' }).click();
  await expect(page).toHaveURL('/signin?next=%2Fgpu%2FH200%3Frange%3D1M');
  const { email, password } = accountOf(server, 'premium');
  await page.getByLabel('Email').fill(email);
  await page.getByLabel('Password', { exact: true }).fill(password);
  await page.getByRole('main').getByRole('button', { name: 'Sign in', exact: true }).click();
  await expect(page).toHaveURL('/gpu/H200?range=1M');

  // The server is away: the star does not claim what is not stored, and the change can be made again.
  expectRefusals(503, 401);
  let away = true;
  const refuse = {
    status: 503,
    json: { error: 'Service unavailable', message: 'The database is away.', code: 'unavailable' },
  };
  await page.route(/\/api\/(watchlist|views)$/, (route) =>
    away && route.request().method() !== 'GET' ? route.fulfill(refuse) : route.continue(),
  );
  await page.getByRole('button', { name: 'Watch H200', exact: true }).click();
  const notice = page.getByRole('alert').filter({ hasText: 'H200 was not added to your watchlist.' });
  await expect(notice).toContainText('The database is away.');
  await expect(page.getByRole('button', { name: 'Watch H200', exact: true })).toHaveAttribute('aria-pressed', 'false');
  await wantNoViolation(page);
  await wantNoSidewaysScroll(page);

  const dialog = page.getByRole('dialog');
  await page.getByRole('button', { name: 'Save view' }).click();
  await dialog.getByLabel('Name').fill('mine');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await expect(dialog.getByRole('alert')).toContainText('The database is away.');
  await expect(dialog.getByLabel('Name')).toHaveValue('mine');
  away = false;
  await dialog.getByRole('button', { name: 'Save' }).click();
  await expect(dialog).toBeHidden();
  await notice.getByRole('button', { name: 'Try again' }).click();
  await expect(page.getByRole('button', { name: 'Stop watching H200' })).toBeVisible();
  await expect(notice).toBeHidden();
  await page.reload();
  await expect(page.getByRole('button', { name: 'Stop watching H200' })).toBeVisible();

  // The session has ended in another tab, while this window was hidden: it has no stream that tells.
  await expect(page.getByText(/^Live · /)).toBeVisible();
  await page.evaluate(() => {
    Object.defineProperty(document, 'visibilityState', { configurable: true, value: 'hidden' });
    document.dispatchEvent(new Event('visibilitychange'));
  });
  await expect(page.getByText(/^Paused · /)).toBeVisible();
  expect((await page.request.delete('/api/session')).status()).toBe(200);
  await page.getByRole('button', { name: 'Stop watching H200' }).click();
  const ended = page.getByRole('alert').filter({ hasText: 'H200 was not removed from your watchlist.' });
  await expect(ended.getByRole('link', { name: 'Sign in' })).toBeVisible();
});
