import { wantNoViolation } from './axe';
import { expect, open, pages, test, wantNoSidewaysScroll } from './test';

// A missing page is a 404, which the browser reports as a console error.
const refused = (name: string) => (name === 'missing' ? [404] : []);

for (const { name, path } of pages) {
  test(`${name} without an account has no violation`, async ({ page, expectRefusals }) => {
    expectRefusals(...refused(name));
    await page.emulateMedia({ colorScheme: 'light' });
    await open(page, path);
    await wantNoViolation(page);
  });

  // The most is shown with Full access. A narrow window shows it as a phone does, so that a page is loaded once for both.
  test(`${name} with Full access has no violation, and on a phone does not scroll sideways`, async ({
    page,
    signIn,
    expectRefusals,
  }) => {
    expectRefusals(...refused(name));
    await signIn('full');
    await page.emulateMedia({ colorScheme: 'light' });
    await open(page, path);
    await wantNoViolation(page);
    await wantNoSidewaysScroll(page);
  });
}

test.describe('on a phone', () => {
  test.use({ viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });

  test('the menu opens and leads to a page', async ({ page }) => {
    await open(page, '/');
    await page.getByRole('button', { name: 'Menu' }).click();
    await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Plans' }).click();
    await expect(page.getByRole('heading', { level: 1, name: 'Plans' })).toBeVisible();
    await expect(page.getByRole('navigation', { name: 'Main' })).toBeHidden();
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
  });
});
