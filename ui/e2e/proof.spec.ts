import { execFileSync } from 'node:child_process';
import { program } from './server';
import type { ResponseBody } from '../src/lib/api';
import { expect, open, read, test } from './test';

test('a point of the chart opens its proof, and the command shown there verifies it', async ({
  page,
  server,
  signIn,
}) => {
  await signIn('full');
  await open(page, '/gpu/H100%20SXM?range=1W');
  const slider = page.getByRole('slider', { name: /Point of the chart/ }).first();
  await slider.focus();
  await page.keyboard.press('ArrowLeft');
  await page.keyboard.press('Enter');
  await expect(page).toHaveURL(/\/proof\/H100%20SXM\?/);
  await expect(page.getByRole('heading', { level: 1, name: 'Proof of H100 SXM' })).toBeFocused();

  const record = '/api/gpu/H100%20SXM/determination?date=2026-11-13';
  const response: ResponseBody<'/api/gpu/{gpuName}/determination'> = await read(server, record, server.keys.full);
  await expect(page.getByRole('main')).toContainText(`$${response.data.index_value!.toFixed(4)}`);
  await expect(page.getByRole('region', { name: 'Inputs' })).toContainText(String(response.data.transactions));
  await expect(page.getByRole('main')).toContainText(response.data.hash.slice(0, 8));

  const { transactions, providers } = response.data;
  await expect(page.getByRole('main')).toContainText(
    `${transactions} verified rentals by ${providers} providers, ` +
      `${response.data.gpu_hours.toLocaleString('en-US', { maximumFractionDigits: 0 })} GPU-hours; unchanged since publication.`,
  );

  const shown = page
    .getByRole('region', { name: /Verify it yourself/ })
    .locator('code, pre')
    .filter({ hasText: /^assay verify --/ })
    .first();
  const command = (await shown.innerText()).trim();
  const printed = execFileSync(
    'bash',
    ['-c', command.replace(/^assay/, program).replace(/--dir \S+/, `--dir ${server.folder}`)],
    { encoding: 'utf8' },
  );
  expect(printed).toMatch(/verified|proven/i);

  const citation = await page.getByRole('region', { name: 'Cite this value' }).locator('.citation').innerText();
  expect(citation).toContain(response.data.hash);
  await open(page, new URL(/http\S+$/.exec(citation)![0]).href.slice(server.base.length));
  await expect(page.getByRole('heading', { name: /^Value as of/ })).toBeVisible();
  await expect(page.getByRole('main')).toContainText(response.data.hash.slice(0, 8));
});

test('without an account the proof of a paid GPU is locked, with the reason', async ({ page }) => {
  await open(page, '/proof/RTX%20PRO%206000%20WS?at=2026-11-12T21:00:00.000Z&grain=daily');
  await expect(page.getByText('Available with Premium', { exact: true })).toBeVisible();
  await open(page, '/proof/H100%20SXM?at=2026-11-12T21:00:00.000Z&grain=hourly');
  await expect(page.getByText('Available with Full access', { exact: true })).toBeVisible();
});
