import { readFileSync } from 'node:fs';
import { expect, open, read, test } from './test';

test('what a visitor may not see offers nothing that does nothing', async ({ page }) => {
  for (const path of ['/memory', '/coding']) {
    await open(page, path);
    await expect(page.getByRole('main').getByRole('link', { name: 'Get a 72-hour trial' })).toBeVisible();
    await expect(page.getByRole('button', { name: /^CSV/ })).toHaveCount(0); // it would be blank
    await expect(page.getByRole('columnheader', { name: 'Category' }).getByRole('button')).toBeVisible();
    for (const locked of ['Price', 'Value']) {
      await expect(page.getByRole('columnheader', { name: locked, exact: true }).getByRole('button')).toHaveCount(0);
    }
  }

  await open(page, '/tokens');
  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: 'CSV of the table' }).click();
  const lines = readFileSync(await (await download).path(), 'utf8')
    .trimEnd()
    .split('\r\n');
  expect(lines).toHaveLength(5); // the free labs
  for (const line of lines.slice(1)) expect(line).not.toMatch(/,,|,$/);

  const year = page.getByRole('button', { name: /^1Y locked/ });
  await year.click({ force: true }); // it is aria-disabled, for it chooses nothing
  const reason = page.getByRole('status').filter({ hasText: 'Without a key, only the last month is available.' });
  await expect(reason.getByRole('link', { name: 'See plans' })).toBeVisible();
  await expect(page).not.toHaveURL(/range/);
  await page.keyboard.press('Escape');
  await expect(reason).toBeHidden();
});

// What is locked shows what a reader would get, in the words of /plans.
const locked = [
  { path: '/memory', region: 'Price chart', action: 'Get a 72-hour trial', price: 'Premium: USD 500 per month' },
  { path: '/workload', region: 'Workload cost', action: 'Get a 72-hour trial', price: 'Premium: USD 500 per month' },
  { path: '/coding', region: 'Activity', action: 'Get a 72-hour trial', price: 'Premium: USD 500 per month' },
  {
    path: '/corrections',
    region: 'Corrected values',
    action: 'Get a 72-hour trial',
    price: 'Premium: USD 500 per month',
  },
  { path: '/sites', region: 'Map', action: 'See plans', price: 'Full: Custom price, by agreement' },
];

for (const [width, height] of [
  [1440, 900],
  [390, 844],
] as const) {
  test(`what is locked shows a sample, what one gets, its price and one action, ${width} wide`, async ({ page }) => {
    await page.setViewportSize({ width, height });
    const gpus = await (await page.request.get('/api/gpu-types')).json();
    const free = await (await page.request.get('/api/gpu-types-free')).json();
    const names = free.data.map((row: { gpu_name: string }) => row.gpu_name);
    const paid = gpus.data.find((row: { gpu_name: string }) => !names.includes(row.gpu_name)).gpu_name;
    const all = [...locked, { ...locked[0]!, path: `/gpu/${encodeURIComponent(paid)}` }];
    for (const { path, region, action, price } of all) {
      await open(page, path);
      const part = page.getByRole('region', { name: region, exact: true });
      await expect(part.getByText(/^Available with (Premium|Full access)$/)).toBeVisible();
      await expect(part.getByRole('listitem')).toHaveCount(3);
      await expect(part.getByText(price)).toBeVisible();
      await expect(part.locator('a.button')).toHaveText([action]);
      const sample = part.locator('.sample');
      await expect(sample).toHaveAttribute('aria-hidden', 'true');
      await expect(sample.getByText('Sample', { exact: true })).toBeVisible();
      expect((await sample.locator('svg').textContent())?.replaceAll(/\s/g, '')).toMatch(/^[1-6]*$/);
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
    }
    await page
      .getByRole('region', { name: 'Price chart' })
      .getByRole('link', { name: 'Get a 72-hour trial' })
      .press('Enter');
    await expect(page.getByRole('heading', { name: 'How to get a plan' })).toBeVisible();
    await expect(page.getByRole('heading', { level: 2, name: 'Free', exact: true })).toBeVisible();
  });
}

test('who has signed in without the plan reads the plans first', async ({ page, signIn }) => {
  await signIn('free');
  await open(page, '/memory');
  const part = page.getByRole('region', { name: 'Price chart' });
  await expect(part.locator('a.button')).toHaveText(['See plans']);
  await expect(part.getByRole('link', { name: 'Sign in' })).toHaveCount(0);
  await signIn('premium');
  await open(page, '/sites');
  await expect(page.getByRole('region', { name: 'Map' }).locator('a.button')).toHaveText(['See plans']);
});

test('a chart whose request fails says so', async ({ page, signIn, expectRefusals }) => {
  await signIn('premium');
  expectRefusals(503);
  const fail = { status: 503, json: { error: 'Service unavailable', message: 'Away.' } };
  await page.route(/\/api\/(memory-types|memory-index|token-types)(\?|$)/, (route) => route.fulfill(fail));
  for (const path of ['/memory', '/workload']) {
    await page.goto(path);
    await expect(page.getByRole('region', { name: /history|Cost/ }).getByText('Away.')).toBeVisible();
  }
});

// Every row of the table that promises data, with a request of the API that has it, and what each plan gets.
test('plans promise what the API gives', async ({ page, server }) => {
  await open(page, '/plans');
  const rows = page.getByRole('region', { name: 'Features of the plans' });
  await expect(rows).not.toContainText(/volume/i);

  const gpu = '/api/gpu/H200';
  const promises: [row: string | RegExp, path: string, free: number, premium: number, full: number][] = [
    [/^Current price/, gpu, 200, 200, 200],
    [/^Current price/, `${gpu}/realtime?minutes=1`, 401, 403, 200],
    [/^API: daily statistics/, `${gpu}/history-range?limit=1`, 401, 200, 200],
    [/^API: daily statistics/, `${gpu}/history?datetime=2026-11-01`, 401, 200, 200],
    [/^API: rolling 24-hour average/, `${gpu}/rolling-24h-average`, 401, 403, 200],
    [/^API: rolling 24-hour average/, `${gpu}/rolling-24h-average/history?startDate=2026-11-01`, 401, 200, 200],
    ['Memory prices', '/api/memory-index', 401, 200, 200],
    ['Workload cost', '/api/workload?lab=openai&startDate=2026-11-01', 401, 200, 200],
    ['LLM coding', '/api/llm-coding/index?product=cc-prs', 401, 200, 200],
    ['Neo-cloud sites and map', '/api/neocloud/map', 401, 403, 200],
    ['Volatility and utilization', `${gpu}/volatility?startDate=2026-11-01&endDate=2026-11-10`, 401, 200, 200],
    ['Volatility and utilization', '/api/gpu-utilization', 401, 200, 200],
    [/^Determination records/, '/api/corrections', 401, 200, 200],
  ];
  for (const [row, path, ...wanted] of promises) {
    const cells = rows.getByRole('row', { name: row }).getByRole('cell');
    await expect(cells).toHaveCount(3);
    for (const [i, key] of [undefined, server.keys.premium, server.keys.full].entries()) {
      const headers: Record<string, string> = key ? { Authorization: `Bearer ${key}` } : {};
      const response = await page.request.get(path, { headers });
      expect(`${path} ${response.status()}`).toBe(`${path} ${wanted[i]}`);
      const text = await cells.nth(i).innerText();
      // What one of the requests of a row gets, the row promises; what all are refused, it does not.
      if (wanted[i] === 200) expect(text).not.toContain('Not included');
      else if (promises.every(([other, , ...codes]) => String(other) !== String(row) || codes[i] !== 200))
        expect(text).toContain('Not included');
    }
  }
});

test('coding compares with the same weekday, and counts the lines of what is ticked', async ({
  page,
  server,
  signIn,
}) => {
  await signIn('premium');
  await open(page, '/coding');
  await expect(page.getByRole('checkbox', { checked: true })).toHaveCount(2);
  await expect(page.getByText('2 products selected, 4 of 6 lines in the chart')).toBeVisible();

  const { data } = await read(server, '/api/llm-coding/history?product=cc-prs&limit=8&order=desc', server.keys.premium);
  expect(new Date(data[0].date).getUTCDay()).toBe(new Date(data[7].date).getUTCDay());
  const percent = (data[0].value / data[7].value - 1) * 100;
  const row = page
    .getByRole('region', { name: 'Coding products' })
    .getByRole('row', { name: /^Claude PRs|Claude PRs/ });
  await expect(row.first()).toContainText(`${Math.abs(percent).toFixed(2)}`);
});

test('paper is light', async ({ page }) => {
  await page.emulateMedia({ colorScheme: 'dark' });
  await open(page, '/tokens');
  const canvas = page.locator('canvas').first();
  const picture = () => canvas.evaluate((element: HTMLCanvasElement) => element.toDataURL());
  const dark = await picture();
  await page.evaluate(() => dispatchEvent(new Event('beforeprint')));
  expect(await picture()).not.toBe(dark); // its lines are as dark as on a light page
  await page.emulateMedia({ colorScheme: 'dark', media: 'print' });
  const colors = (selector: string) =>
    page
      .locator(selector)
      .first()
      .evaluate((element) => {
        const style = getComputedStyle(element);
        return [style.backgroundColor, style.color];
      });
  expect(await colors('body')).toEqual(['rgb(255, 255, 255)', 'rgb(20, 26, 36)']);
  expect((await colors('.card'))[0]).toBe('rgb(255, 255, 255)');
  await page.emulateMedia({ colorScheme: 'dark', media: 'screen' });
  await page.evaluate(() => dispatchEvent(new Event('afterprint')));
  expect(await picture()).toBe(dark);
});
