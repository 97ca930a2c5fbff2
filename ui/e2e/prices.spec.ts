import { readFileSync } from 'node:fs';
import type { ResponseBody } from '../src/lib/api';
import { expect, open, read, test } from './test';

test('a first visit shows what this is, every free price, and what is locked', async ({ page, server }) => {
  await open(page, '/');
  await expect(page).toHaveTitle('Overview · Assay');
  await expect(page.getByText('Synthetic data: these figures are not market prices.')).toBeVisible();
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('What a GPU-hour costs, and the proof of it');
  const rows = page.getByRole('region', { name: 'GPU prices' }).getByRole('row');
  await expect(rows).toHaveCount(7);

  const response: ResponseBody<'/api/daily-index'> = await read(server, '/api/daily-index?gpu=H200');
  await expect(rows.filter({ hasText: 'H200' })).toContainText(`$${response.data.index_value.toFixed(4)}`);
  await expect(rows.filter({ hasText: 'RTX PRO 6000 WS' })).not.toContainText('$');
  await expect(rows.filter({ hasText: 'RTX PRO 6000 WS' })).toContainText('locked');
  const first = page.getByRole('region', { name: 'H100 SXM' });
  await expect(first).toContainText('2026-11-14 21:00 UTC (16:00 New York fixing)');

  await rows.getByRole('button', { name: '1M' }).click();
  const months = (await rows.allInnerTexts()).slice(1, 4).map((text) => text.match(/[+−][\d.]+%/g)![2]!);
  const numbers = months.map((text) => Number(text.replace('−', '-').replace('%', '')));
  expect(numbers).toEqual(numbers.toSorted((a, b) => b - a));

  await page.getByRole('link', { name: 'How it is computed' }).click();
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('Methodology');
  await expect(page.getByRole('heading', { name: 'GPU index' })).toBeVisible();
  await expect(page.getByRole('region', { name: 'Methodology 2.0.0' })).toContainText('version = "2.0.0"');
});

test('with a key the overview has a year, the utilization and the volatility', async ({ page, server, signIn }) => {
  await signIn('premium');
  await open(page, '/');
  const { premium } = server.keys;
  const route = '/api/gpu/H200/volatility?startDate=2026-11-01&endDate=2026-11-15';
  const response: ResponseBody<'/api/gpu/{gpuName}/volatility'> = await read(server, route, premium);
  const volatility = `${(response.data[0]!.rolling_volatility! * 100).toFixed(1)}%`;
  const row = page.getByRole('region', { name: 'GPU prices' }).getByRole('row').filter({ hasText: 'H200' });
  await expect(row).toContainText(volatility);
  expect((await row.innerText()).match(/[+−][\d.]+%/g)).toHaveLength(4);
  await expect(page.getByRole('region', { name: 'Memory' })).toContainText('$');
  await expect(page.getByRole('region', { name: 'Tokens' })).toContainText('per million');
  await expect(page.getByRole('region', { name: 'Sites' })).toContainText('Available with Full access.');
});

test('the range, the scale and the comparison are in the address', async ({ page }) => {
  await open(page, '/');
  await page.getByRole('link', { name: 'See H100 SXM' }).click();
  await expect(page).toHaveURL(/\/gpu\/H100%20SXM$/);
  const chart = page.getByRole('img', { name: /USD per GPU-hour/ });
  await expect(chart).toHaveAccessibleName(/from 2026-08-1\d/);

  await page.getByRole('button', { name: '1M', exact: true }).click();
  await expect(page).toHaveURL(/range=1M/);
  await expect(chart).toHaveAccessibleName(/from 2026-10-1\d/);

  await page.getByText('Compare', { exact: true }).click();
  await page.getByRole('checkbox', { name: 'H200' }).check();
  await page.getByRole('checkbox', { name: 'B200' }).check();
  await page.getByRole('button', { name: 'Log', exact: true }).click();
  await expect(page).toHaveURL(/compare=H200%2CB200/);
  await expect(chart).toHaveAccessibleName(/H100 SXM \$[\d.]+, H200 \$[\d.]+, B200 \$[\d.]+/);

  await page.reload();
  await expect(page.getByRole('button', { name: '1M', exact: true })).toHaveAttribute('aria-pressed', 'true');
  await expect(page.getByRole('button', { name: 'Log', exact: true })).toHaveAttribute('aria-pressed', 'true');
  await expect(chart).toHaveAccessibleName(/B200/);
});

test('the keyboard moves along a chart', async ({ page }) => {
  await open(page, '/gpu/H100%20SXM?range=1W');
  const slider = page.getByRole('slider', { name: /Point of the chart/ }).first();
  await slider.focus();
  await expect(slider).toHaveAttribute('aria-valuetext', /^2026-11-14 21:00/);
  await page.keyboard.press('ArrowLeft');
  await expect(slider).toHaveAttribute('aria-valuetext', /^2026-11-13 21:00/);
});

test('the CSV holds the values of the chart, as the API returns them', async ({ page, server }) => {
  await open(page, '/gpu/H100%20SXM?range=1W&compare=H200');
  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: 'CSV' }).first().click();
  const lines = readFileSync(await (await download).path(), 'utf8')
    .trimEnd()
    .split('\r\n');
  expect(lines[0]).toBe('gpu_type,region,timestamp,index_value,methodology,synthetic,source');

  const response: ResponseBody<'/api/h100-history'> = await read(server, '/api/h100-history?startDate=2026-11-07');
  const url = page.url();
  const rows = lines.filter((line) => line.startsWith('H100 SXM,'));
  expect(rows).toEqual(
    response.data.map((row) => `H100 SXM,global,${row.timestamp},${row.index_value},2.0.0,true,${url}`),
  );
  expect(lines.filter((line) => line.startsWith('H200,'))).toHaveLength(rows.length);
});

test('without an account, hourly grain and long ranges are locked with the reason', async ({ page }) => {
  await open(page, '/gpu/H100%20SXM');
  await expect(
    page.getByRole('button', { name: /^Hourly locked: Hourly and real-time data require a full subscription/ }),
  ).toHaveAttribute('aria-disabled', 'true');
  await expect(
    page.getByRole('button', { name: /^All locked: Without a key, only the last three months are available/ }),
  ).toHaveAttribute('aria-disabled', 'true');
  await open(page, '/gpu/RTX%20PRO%206000%20WS');
  await expect(page.getByText('RTX PRO 6000 WS is not one of the free GPU models.')).toBeVisible();
});

test('Premium sees the whole history, and hourly locked', async ({ page, signIn }) => {
  await signIn('premium');
  await open(page, '/gpu/RTX%20PRO%206000%20WS?range=All');
  await expect(page.getByRole('img', { name: /USD per GPU-hour/ })).toHaveAccessibleName(/from 2024-11-/);
  const hourly = page.getByRole('button', {
    name: /^Hourly locked: Premium access is daily-grain only. Hourly and real-time data require a full subscription./,
  });
  await hourly.click({ force: true }); // pressing it does nothing
  await expect(page).not.toHaveURL(/grain/);
});

test('Full sees hours', async ({ page, signIn }) => {
  await signIn('full');
  await open(page, '/gpu/H100%20SXM?range=1D');
  await page.getByRole('button', { name: 'Hourly', exact: true }).click();
  await expect(page.getByRole('img', { name: /· hourly/ })).toHaveAccessibleName(/to 2026-11-14 21:00 UTC/);
});
