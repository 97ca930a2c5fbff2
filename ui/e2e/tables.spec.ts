import { readFileSync } from 'node:fs';
import type { ResponseBody } from '../src/lib/api';
import { expect, open, read, test } from './test';

test('memory prices are filtered, sorted, added to the chart and downloaded', async ({ page, signIn }) => {
  await signIn('premium');
  await open(page, '/memory');
  const rows = page.getByRole('region', { name: 'Memory types' }).getByRole('row');
  await expect(rows).toHaveCount(15); // the head, and fourteen types

  await page.getByLabel('Filter types').fill('ddr5');
  await expect(rows).toHaveCount(5);
  await page.getByRole('columnheader', { name: 'Price' }).getByRole('button').click();
  await expect(page).toHaveURL(/filter=ddr5/);
  await expect(page).toHaveURL(/sort=-price/);
  const prices = async () =>
    (await rows.allInnerTexts()).slice(1).map((text) => Number(/\$([\d.,]+)/.exec(text)![1]!.replaceAll(',', '')));
  expect(await prices()).toEqual((await prices()).toSorted((a, b) => b - a));

  const chart = page.getByRole('img', { name: /USD per unit/ });
  await expect(chart).not.toHaveAccessibleName(/RDIMM/);
  await page.getByRole('checkbox', { name: 'Show DDR5 RDIMM 32GB 4800/5600 in the chart' }).check();
  await expect(chart).toHaveAccessibleName(/RDIMM 32GB 4800\/5600 \$/);

  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: 'CSV of the table' }).click();
  const lines = readFileSync(await (await download).path(), 'utf8')
    .trimEnd()
    .split('\r\n');
  expect(lines).toHaveLength(5);
});

test('token prices without an account: the free labs are open, the others locked', async ({ page }) => {
  await open(page, '/tokens');
  const rows = page.getByRole('region', { name: 'Prices of the labs' }).getByRole('row');
  await expect(rows).toHaveCount(12);
  await expect(rows.filter({ hasText: 'locked' })).toHaveCount(7);
  await expect(rows.filter({ hasText: 'Anthropic' })).toContainText('$');
});

test('a route is tried from the API reference', async ({ page, server }) => {
  await open(page, '/docs?op=getGpuPrice');
  await page
    .getByRole('button', { name: /^(Send|Try)/ })
    .first()
    .click();
  const response: ResponseBody<'/api/gpu/{gpuName}'> = await read(server, '/api/gpu/H100%20SXM');
  await expect(page.getByRole('main')).toContainText(`"index_value": ${response.data.index_value}`);
});
