import { wantNoViolation } from './axe';
import { expect, open, read, test } from './test';
import { now } from './server';

/** Serves another state of the node than its own. */
const healthWith = (health: object, change: object) => ({ json: { ...health, ...change } });

test('the page says that everything is current, and what is published', async ({ page, server }) => {
  const { data } = await read(server, '/api/publications/latest');
  const health = await read(server, '/health');
  // The demo writes no new values, so its data is as old as the demo is running.
  await page.route('/health', (route) => route.fulfill(healthWith(health, { publishing: 'current' })));
  await open(page, '/status');
  const state = page.getByRole('region', { name: 'Current state' });
  await expect(state.getByRole('status')).toContainText('Everything is current.');
  await expect(page.getByRole('row', { name: /^GPU prices current/ })).toBeVisible();
  const publishing = page.getByRole('region', { name: 'Publishing' });
  await expect(publishing).toContainText('2026-11-14 21:00 UTC (16:00 New York fixing): published');
  await expect(publishing).toContainText('2026-11-15 21:00 UTC (16:00 New York)');
  await expect(publishing).toContainText(`number ${new Intl.NumberFormat('en-US').format(data.version)}`);
  await expect(publishing).toContainText(/[\d,]+ entries/);
  await expect(page.getByRole('region', { name: 'This node' })).toContainText(health.version);
  await page.getByRole('contentinfo').getByRole('link', { name: 'corrections and notices' }).press('Enter');
  await expect(page.getByRole('heading', { level: 1, name: 'Corrections' })).toBeVisible();
  await page.getByRole('contentinfo').getByRole('link', { name: 'status' }).press('Enter');
  await expect(page.getByRole('heading', { level: 1, name: 'Status' })).toBeVisible();
});

test('it looks again every 30 seconds, and keeps the last state when the server is away', async ({
  page,
  server,
  expectRefusals,
}) => {
  const health = await read(server, '/health');
  expectRefusals(503);
  await page.clock.install({ time: now });
  let answer: object | 'away' = healthWith(health, { publishing: 'current' });
  let asked = 0;
  await page.route('/health', (route) => {
    asked++;
    return answer === 'away' ? route.abort() : route.fulfill(answer);
  });
  await page.goto('/status');
  const state = page.getByRole('region', { name: 'Current state' }).getByRole('status');
  await expect(state).toContainText('Everything is current.');
  expect(asked).toBe(1);

  answer = healthWith(health, { publishing: 'late', publishing_reason: 'The newest hour ended long ago.' });
  await page.clock.fastForward(31_000);
  await expect(state).toContainText(/GPU prices have been late since 2026-11-14 \d\d:00 UTC\./);
  await expect(state).toContainText('The newest hour ended long ago.');

  const { limits, datasets, ...condition } = health;
  void [limits, datasets];
  answer = {
    status: 503,
    json: { ...condition, code: 'unavailable', status: 'unhealthy', database: 'disconnected', age_seconds: 600 },
  };
  await page.clock.fastForward(31_000);
  await expect(state).toContainText('The database has been unreachable since');

  answer = healthWith(health, { publishing: 'current' });
  await page.getByRole('button', { name: 'Check now' }).press('Enter');
  await expect(state).toContainText('Everything is current.');

  expectRefusals('net::ERR_FAILED');
  answer = 'away';
  await page.clock.fastForward(31_000);
  await expect(state).toContainText('The server cannot be reached.');
  await expect(state).toContainText('Then: Everything is current.');
  await expect(page.getByRole('row', { name: /^GPU prices current/ })).toBeVisible();

  answer = healthWith(health, { publishing: 'current' });
  await page.clock.fastForward(31_000);
  await expect(state).not.toContainText('cannot be reached');
});

for (const [width, height] of [
  [1280, 800],
  [390, 844],
] as const) {
  test(`the status has no violation, ${width} wide`, async ({ page }) => {
    await page.setViewportSize({ width, height });
    await open(page, '/status');
    await wantNoViolation(page);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
  });
}
