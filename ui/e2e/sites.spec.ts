import { readFileSync } from 'node:fs';
import type { ResponseBody } from '../src/lib/api';
import { expect, open, read, test } from './test';

test('the map leads from a country to its sites', async ({ page, server, signIn }) => {
  await signIn('full');
  await open(page, '/sites');
  const countries = page
    .getByRole('region', { name: /countries/i })
    .filter({ has: page.getByRole('table') })
    .first();
  const germany = countries.getByRole('row', { name: /Germany/ });
  const sites = Number(/Germany\s+(\d+)/.exec((await germany.innerText()).replaceAll('\t', ' '))![1]);
  await germany.getByRole('button', { name: 'Germany' }).click();
  await expect(page).toHaveURL(/country=Germany/);
  await expect(page.getByRole('heading', { level: 2, name: /Germany/ })).toBeVisible();

  const germanSites = '/api/neocloud/sites?country=Germany&limit=1000';
  const response: ResponseBody<'/api/neocloud/sites'> = await read(server, germanSites, server.keys.full);
  expect(sites).toBe(response.total);
  await expect(page.getByText(response.sites[0]!.site_name).first()).toBeVisible();

  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: /CSV/ }).click();
  const lines = readFileSync(await (await download).path(), 'utf8')
    .trimEnd()
    .split('\r\n');
  expect(lines).toHaveLength(response.total + 1);

  await page.getByRole('button', { name: 'All countries' }).click();
  await expect(page).not.toHaveURL(/country=/);
});

test('sites are locked for Premium, with the reason', async ({ page, signIn }) => {
  await signIn('premium');
  await open(page, '/sites');
  await expect(
    page.getByText('Neocloud site data is not included in premium access. A full subscription unlocks it.'),
  ).toBeVisible();
});

test('a site that is opened is in sight and in the address, and the wheel scrolls the page', async ({
  page,
  signIn,
}) => {
  await signIn('full');
  await open(page, '/sites?country=Germany');
  const list = page.getByRole('region', { name: /^List: / });
  const site = list.getByRole('row').nth(8).getByRole('button');
  const name = (await site.innerText()).trim();
  await site.scrollIntoViewIfNeeded();
  await site.click();
  const card = page.getByRole('region', { name: 'Selected site' });
  await expect(card).toContainText(name);
  await expect(card).toBeInViewport({ ratio: 1 });
  await expect(card).toBeFocused();
  await expect(page).toHaveURL(/[?&]site=/);
  await expect(page).toHaveURL(/[?&]at=/); // the map has come to rest

  await page.reload();
  await expect(card).toContainText(name);
  await page.goBack();
  await expect(card).toBeHidden();
  await expect(page).not.toHaveURL(/[?&]site=/);

  await open(page, '/sites');
  const map = page.getByRole('application');
  await map.hover();
  await page.mouse.wheel(0, 200);
  await expect.poll(() => page.evaluate(() => scrollY)).toBeGreaterThan(100);
  await expect(page.getByText('Ctrl and scroll to zoom')).toBeVisible();
  await expect(page).not.toHaveURL(/at=/);
  await page.evaluate(() => scrollTo(0, 0));
  await map.hover();
  await page.keyboard.down('Control');
  await page.mouse.wheel(0, -200);
  await page.keyboard.up('Control');
  await expect(page).toHaveURL(/[?&]at=/);
});
