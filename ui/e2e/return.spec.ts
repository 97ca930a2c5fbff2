import { accountOf, expect, open, test } from './test';

test('sign-in returns to where the reader was', async ({ page, server }) => {
  const { email, password } = accountOf(server, 'member');
  const signIn = async () => {
    await page.getByLabel('Email').fill(email);
    await page.getByLabel('Password', { exact: true }).fill(password);
    await page.getByRole('main').getByRole('button', { name: 'Sign in', exact: true }).click();
  };
  await open(page, '/memory?category=dram');
  await page.getByRole('banner').getByRole('link', { name: 'Sign in' }).click();
  await signIn();
  await expect(page).toHaveURL(/\/memory\?category=dram$/);
  await page.getByRole('button', { name: 'Sign out' }).click();
  await expect(page).toHaveURL(/\/$/);
  await page.getByRole('banner').getByRole('link', { name: 'Sign in' }).click();
  await signIn();
  await expect(page.getByRole('heading', { level: 1, name: /^What a GPU-hour costs/ })).toBeVisible();
  await expect(page.getByRole('button', { name: 'Sign out' })).toBeVisible();
});

test('the footer and the API reference lead to pages that people read', async ({ page }) => {
  await open(page, '/');
  const footer = page.getByRole('contentinfo');
  for (const [name, heading] of [
    ['methodology', 'Methodology'],
    ['corrections and notices', 'Corrections'],
    ['status', 'Status'],
  ] as const) {
    await footer.getByRole('link', { name }).click();
    await expect(page.getByRole('heading', { name: heading, exact: true })).toBeVisible();
  }
  await open(page, '/docs?op=listGpuPrices');
  await expect(page.getByRole('main')).toContainText('one of empty, us-east');
  await expect(page.getByRole('main')).not.toContainText(/one of ,/i);
});

test.describe('at 1280', () => {
  test.use({ viewport: { width: 1280, height: 800 } });

  test('a key can be revoked without scrolling its table', async ({ page, signIn }) => {
    await signIn('premium');
    const name = 'a name that is as long as people make them when they may';
    const made = await page.request.post('/api/create-api-key', { data: { name } });
    const { data } = (await made.json()) as { data: { id: string } };
    await open(page, '/settings#keys');
    const row = page.getByRole('region', { name: 'Your API keys' }).getByRole('row').filter({ hasText: data.id });
    await expect(row.getByRole('button', { name: /^Revoke/ })).toBeInViewport({ ratio: 1 });
    await page.request.delete(`/api/keys/${data.id}`);
  });
});
