import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Page } from '@playwright/test';
import { program, type Server } from './server';
import { expect, open, pages, test } from './test';

// Pictures of every page as a reader with Full access sees it, for docs/screenshots. ASSAY_SCREENSHOTS names another folder.
const folder = process.env.ASSAY_SCREENSHOTS ?? resolve(import.meta.dirname, '../../docs/screenshots');

/** Creates keys and uses them, so that the settings show usage. */
async function useKeys(page: Page): Promise<void> {
  if (((await (await page.request.get('/api/keys')).json()) as { count: number }).count > 0) return;
  for (const [name, requests] of [
    ['research notebook', 40],
    ['nightly export', 12],
  ] as const) {
    const made = (await (await page.request.post('/api/create-api-key', { data: { name } })).json()) as { key: string };
    for (let i = 0; i < requests; i++) {
      const path = [
        '/api/gpu/H100%20SXM/hourly',
        '/api/memory-index',
        '/api/neocloud/map',
        '/api/corrections?cursor=wrong',
      ][i % 4]!;
      await page.request.get(path, { headers: { Authorization: `Bearer ${made.key}` } });
    }
  }
}

/** Restates two days of B200, because a rental of then arrives late, so that a chart has something to say. */
function restate(server: Server): void {
  const rental = join(server.folder, 'late.csv');
  writeFileSync(
    rental,
    'id,source,executed_at,gpu_name,region,price,gpus,hours,provider,verified\n' +
      'late-1,feed,2026-10-21T03:00:00Z,B200,us-east,4.4,64,24,Alder,true\n',
  );
  execFileSync(program, ['import', 'transactions', '--dir', server.folder, rental]);
  const period = ['--from', '2026-10-20', '--to', '2026-10-22'];
  execFileSync(program, [
    'restate',
    '--dir',
    server.folder,
    '--gpu',
    'B200',
    ...period,
    '--reason',
    'A rental arrived late',
  ]);
}

for (const [width, height] of [
  [1440, 1000],
  [390, 844],
] as const) {
  test.describe(`${width} wide`, () => {
    test.use({ viewport: { width, height } });
    for (const { name, path } of pages) {
      test(name, async ({ page, signIn, expectRefusals }) => {
        expectRefusals(404);
        if (name !== 'signin') await signIn('full');
        if (name === 'settings') await useKeys(page);
        await open(page, path);
        await page.screenshot({ path: `${folder}/${name}-${width}.png` });
      });
    }
  });
}

test.describe('in the dark scheme', () => {
  test.use({ colorScheme: 'dark', viewport: { width: 1440, height: 1000 } });
  test('gpu', async ({ page, signIn }) => {
    await signIn('full');
    await open(page, '/gpu/H100%20SXM?compare=H200,B200');
    await page.screenshot({ path: `${folder}/gpu-dark-1440.png` });
  });
});

test.describe('of the README', () => {
  test.use({ viewport: { width: 1440, height: 1000 } });

  test('a live chart with notes', async ({ page, signIn, server }) => {
    restate(server);
    await signIn('full');
    await open(page, '/gpu/B200?band=on');
    await page.getByText(/^Notes on this range: \d+$/).click();
    await expect(page.locator('.marks > *')).not.toHaveCount(0);
    await page
      .getByRole('region', { name: 'Price chart' })
      .evaluate((chart) => scrollTo(0, chart.getBoundingClientRect().top - 190));
    await page.screenshot({ path: `${folder}/gpu-notes-1440.png` });
  });

  test('a proof that the browser has checked', async ({ page, signIn }) => {
    await signIn('full');
    await open(page, '/proof/H100%20SXM?at=2026-11-12T21:00:00.000Z&grain=daily');
    const checked = page.getByText('Verified in your browser', { exact: true });
    await expect(checked).toBeVisible();
    await checked.evaluate((text) => scrollTo(0, text.getBoundingClientRect().top + scrollY - 420));
    await page.screenshot({ path: `${folder}/proof-checked-1440.png` });
  });
});
