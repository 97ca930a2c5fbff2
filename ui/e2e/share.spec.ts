import { wantNoViolation } from './axe';
import { accountOf, expect, open, submitSignIn, test, wantNoSidewaysScroll } from './test';

test('a reader makes a share link in Settings, pastes it elsewhere, and revokes it', async ({
  page,
  server,
  expectRefusals,
}) => {
  await submitSignIn(page, accountOf(server, 'premium'));
  await expect(page).toHaveURL(/\/settings$/);
  await open(page, '/settings#share-links');
  const links = page.getByRole('region', { name: 'Share links', exact: true });
  const dialog = page.getByRole('dialog');
  await expect(links).toContainText('You have no share link yet.');

  // Errors are at the field that they are about, which gets the focus.
  await links.getByRole('button', { name: 'Create link' }).click();
  expectRefusals(400);
  await dialog.getByRole('button', { name: 'Create link' }).click();
  await expect(dialog.getByLabel('Name, in your list only')).toBeFocused();
  await expect(dialog.getByLabel('Name, in your list only')).toHaveAccessibleDescription(/Invalid value for "name"/);

  // Each family has its own series. Only some have regions and hourly values, which this account may not read.
  await expect(dialog.getByRole('option', { name: 'Hourly (Full access)' })).toBeDisabled();
  await dialog.getByLabel('Data').selectOption('Memory prices');
  await expect(dialog.getByLabel('Values')).toBeHidden();
  await dialog.getByLabel('Data').selectOption('GPU prices');
  await dialog.getByLabel('Series').selectOption('H200');
  await dialog.getByLabel('Range, up to the newest value').selectOption('1 month');
  await wantNoViolation(page);
  await dialog.getByLabel('Name, in your list only').fill('team sheet');
  await dialog.getByLabel('Name, in your list only').press('Enter');

  // The link is shown once, in each of its forms, and works for a program that knows nothing else.
  await expect(dialog.getByText('Copy what you need now. You cannot see the link again.')).toBeVisible();
  await expect(dialog).toBeFocused(); // what had the focus is gone
  const cell = (await dialog.getByRole('status', { name: 'Google Sheets' }).textContent())!;
  const address = /^=IMPORTDATA\("(http.*\/s\/shl_\w+\.csv)"\)$/.exec(cell)![1]!;
  const sheet = await (await fetch(address)).text();
  expect(sheet).toMatch(/^timestamp,.*\r\n/);
  expect(sheet.trimEnd().split('\r\n').length).toBeGreaterThan(28);
  const badge = (await dialog.getByRole('status', { name: 'Badge in Markdown' }).textContent())!;
  expect(await (await fetch(/\((.*)\)$/.exec(badge)![1]!)).text()).toContain('<svg');
  await wantNoViolation(page);
  await wantNoSidewaysScroll(page);
  await dialog.getByRole('button', { name: 'Done' }).click();
  await expect(page.getByText(address)).toHaveCount(0);

  const link = links.getByRole('listitem').filter({ hasText: 'team sheet' });
  await expect(link).toContainText('GPU prices: H200, daily, 1 month');
  await expect(link).toContainText('Active');
  await link.getByRole('button', { name: 'Revoke team sheet' }).click();
  await dialog.getByRole('button', { name: 'Revoke link' }).click();
  await expect(dialog).toBeHidden();
  await expect(links).toContainText('You have no share link yet.');
  expect((await fetch(address)).status).toBe(404);
});

test('a chart is shared from its page: embedded by anyone, linked by who has an account', async ({ page, signIn }) => {
  const dialog = page.getByRole('dialog', { name: /^Share / });
  await open(page, '/gpu/H100%20SXM?range=1M&region=us-east');
  await page.getByRole('button', { name: 'Share' }).click();
  const code = await dialog.locator('pre', { hasText: '<iframe' }).textContent();
  const address = /src="([^"]*)"/.exec(code!)![1]!.replaceAll('&amp;', '&');
  expect(address).toMatch(/\/embed\/gpu\/H100%20SXM\?range=1m&region=us-east$/);
  expect(await (await fetch(address)).text()).toContain('<svg');
  await expect(dialog.getByRole('link', { name: 'Sign in' })).toBeVisible();
  await wantNoViolation(page);

  // With an account the form begins with what the chart shows. A model that needs a plan cannot be embedded.
  await signIn('premium');
  await open(page, '/gpu/RTX%20PRO%206000%20WS?range=All');
  await page.getByRole('button', { name: 'Share' }).click();
  await expect(dialog.getByRole('heading', { name: 'Make a share link' })).toBeVisible();
  await expect(dialog.getByText('Embed the chart')).toHaveCount(0);
  await expect(dialog.getByLabel('Series')).toHaveValue('RTX PRO 6000 WS');
  await expect(dialog.getByLabel('Range, up to the newest value')).toHaveValue('all');
});
