import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from '@playwright/test';
import { expect, open, pages, test } from './test';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

interface Violation {
  id: string;
  nodes: { target: string[]; failureSummary: string }[];
}

async function violations(page: Page): Promise<string[]> {
  await page.evaluate(axe);
  const found = await page.evaluate(
    async () =>
      (await (window as unknown as { axe: { run(): Promise<{ violations: Violation[] }> } }).axe.run()).violations,
  );
  return found.map(
    (violation) =>
      `${violation.id}: ${violation.nodes.map((node) => `${node.target.join(' ')} ${node.failureSummary}`).join('; ')}`,
  );
}

// A missing page is a 404, which the browser reports as a console error.
const refused = (name: string) => (name === 'missing' ? [404] : []);

for (const colorScheme of ['light', 'dark'] as const) {
  test.describe(`in the ${colorScheme} scheme`, () => {
    test.use({ colorScheme });
    for (const { name, path } of pages) {
      test(`${name} without an account has no violation`, async ({ page, expectRefusals }) => {
        expectRefusals(...refused(name));
        await open(page, path);
        expect(await violations(page)).toEqual([]);
      });

      test(`${name} with Full access has no violation`, async ({ page, signIn, expectRefusals }) => {
        expectRefusals(...refused(name));
        await signIn('full');
        await open(page, path);
        expect(await violations(page)).toEqual([]);
      });
    }
  });
}

test.describe('on a phone', () => {
  test.use({ viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });
  for (const { name, path } of pages) {
    test(`${name} does not scroll sideways`, async ({ page, signIn, expectRefusals }) => {
      expectRefusals(...refused(name));
      await signIn('full');
      await open(page, path);
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
    });
  }

  test('the menu opens and leads to a page', async ({ page }) => {
    await open(page, '/');
    await page.getByRole('button', { name: 'Menu' }).click();
    await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Plans' }).click();
    await expect(page.getByRole('heading', { level: 1, name: 'Plans' })).toBeVisible();
    await expect(page.getByRole('navigation', { name: 'Main' })).toBeHidden();
  });
});
