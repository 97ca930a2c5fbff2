import { resolve } from 'node:path';
import type { Page } from '@playwright/test';
import { open, pages, test } from './test';

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
