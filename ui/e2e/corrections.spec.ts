import { wantNoViolation } from './axe';
import { counted, summaryOf } from './correctionlist';
import { expect, open, read, test, wantNoSidewaysScroll } from './test';

// The demo has no corrections, so its lists are empty here. live.spec restates values, and looks at the list of those.

test('a visitor reads why corrections are locked, and the notices', async ({ page, server }) => {
  await open(page, '/corrections');
  await expect(page.getByText('Available with Premium', { exact: true })).toBeVisible();
  await expect(page.getByRole('table', { name: 'Corrected GPU values' })).toHaveCount(0);
  const { data } = await read(server, '/api/notices?limit=50');
  const list = page.getByRole('region', { name: 'Notices' });
  await expect(list.getByRole('listitem')).toHaveCount(Math.max(1, data.length));
  if (data.length > 0) await expect(list.getByRole('listitem').first()).toContainText(data[0].text);
  await list.getByLabel('Kind').selectOption('cessation');
  await expect(page).toHaveURL(/kind=cessation/);
});

test('a Premium reader sees daily corrections, and those of other families', async ({ page, server, signIn }) => {
  const { count } = await read(server, '/api/corrections?limit=10000&granularity=daily', server.keys.premium);
  await signIn('premium');
  await open(page, '/corrections?grain=hourly'); // which is not theirs
  const part = page.getByRole('region', { name: 'Corrected values', exact: true });
  await expect(summaryOf(part)).toHaveText(counted(count));
  await expect(part.getByRole('button', { name: 'Daily', pressed: true })).toBeVisible();
  for (const [name, family] of [
    ['Memory', 'memory'],
    ['Tokens and workload', 'models'],
  ] as const) {
    const listed = await read(server, `/api/corrections/${family}?limit=10000`, server.keys.premium);
    await part.getByRole('button', { name, exact: true }).press('Enter');
    await expect(page).toHaveURL(new RegExp(`family=${family}`));
    await expect(summaryOf(part)).toHaveText(counted(listed.count));
  }
  await page.goBack();
  await expect(page).toHaveURL(/family=memory/);
});

test('a list that cannot be read says so', async ({ page, signIn, expectRefusals }) => {
  await signIn('premium');
  expectRefusals(503);
  const fail = { status: 503, json: { error: 'Service unavailable', message: 'Away.' } };
  await page.route(/\/api\/(corrections|notices)(\?|$)/, (route) => route.fulfill(fail));
  await page.goto('/corrections');
  await expect(page.getByText('Away.')).toHaveCount(2);
  await page.unroute(/\/api\/(corrections|notices)(\?|$)/);
  await page.getByRole('button', { name: 'Try again' }).first().click();
  await expect(summaryOf(page.getByRole('main'))).toBeVisible();
});

for (const [width, height] of [
  [1280, 800],
  [390, 844],
] as const) {
  test(`corrections have no violation, ${width} wide`, async ({ page, signIn }) => {
    await page.setViewportSize({ width, height });
    await signIn('full');
    await open(page, '/corrections');
    await wantNoViolation(page);
    await wantNoSidewaysScroll(page);
  });
}
