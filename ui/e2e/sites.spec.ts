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
