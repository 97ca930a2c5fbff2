import type { Page } from '@playwright/test';
import { axe, violations } from './axe';
import { expect, open, pages, test } from './test';

/** Checks a page in the light scheme, and its colors again after the reader switches to the dark one. */
async function wantNoViolation(page: Page, path: string): Promise<void> {
  await page.emulateMedia({ colorScheme: 'light' });
  await open(page, path);
  await page.evaluate(axe);
  expect(await violations(page)).toEqual([]);
  await page.emulateMedia({ colorScheme: 'dark' });
  // The colors change gradually.
  await page.evaluate(() => Promise.all(document.getAnimations().map((animation) => animation.finished)));
  expect(await violations(page, 'color-contrast', 'link-in-text-block')).toEqual([]);
}

// A missing page is a 404, which the browser reports as a console error.
const refused = (name: string) => (name === 'missing' ? [404] : []);

for (const { name, path } of pages) {
  test(`${name} without an account has no violation`, async ({ page, expectRefusals }) => {
    expectRefusals(...refused(name));
    await wantNoViolation(page, path);
  });

  test(`${name} with Full access has no violation`, async ({ page, signIn, expectRefusals }) => {
    expectRefusals(...refused(name));
    await signIn('full');
    await wantNoViolation(page, path);
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
