import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from '@playwright/test';
import { copyOfData, now, program, remove, startDemo, type Server } from './server';
import { accountOf, expect, open, submitSignIn, test } from './test';

/** Sends a request with curl, like a reader, and returns the status and the body. */
function curl(server: Server, key: string, path: string): { status: number; body: string } {
  const out = execFileSync(
    'curl',
    ['-s', '-w', '\\n%{http_code}', '-H', `Authorization: Bearer ${key}`, server.base + path],
    { encoding: 'utf8' },
  );
  const lines = out.split('\n');
  return { status: Number(lines.at(-1)), body: lines.slice(0, -1).join('\n') };
}

/** Creates a key on the settings page and returns it. */
async function createKey(page: Page, name: string): Promise<string> {
  await open(page, '/settings');
  await page.getByRole('button', { name: 'Create key' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel(/^Name/).fill(name);
  await dialog.getByRole('button', { name: 'Create key' }).click();
  await expect(dialog.getByText('Copy it now. You cannot see it again.')).toBeVisible();
  const text = (await dialog.getByRole('status').first().textContent())!;
  await dialog.getByRole('button', { name: 'Done' }).click();
  await expect(dialog).toBeHidden();
  return text;
}

test('a reader signs in, creates a key, uses it, sees its usage, and revokes it', async ({ page, server }) => {
  await submitSignIn(page, accountOf(server, 'full'));
  await expect(page).toHaveURL(/\/settings$/);
  await expect(page.getByRole('button', { name: 'Sign out', exact: true })).toBeVisible();
  const key = await createKey(page, 'notebook');
  expect(key).toMatch(/^sk_live_[0-9A-Za-z]{6}_[0-9A-Za-z]{49}$/);
  await expect(page.getByText(key)).toHaveCount(0); // shown once
  expect(curl(server, key, '/api/gpu/H100%20SXM/hourly?limit=1').status).toBe(200);

  await open(page, '/settings');
  const row = page.getByRole('region', { name: 'Your API keys' }).getByRole('row', { name: /^notebook/ });
  await expect(row).toContainText(key.slice(0, 14));
  await expect(row).toContainText('Active');

  await row.getByRole('button', { name: 'Revoke notebook' }).click();
  const dialog = page.getByRole('dialog', { name: 'Revoke this key?' });
  await expect(dialog).toContainText('notebook');
  await dialog.getByRole('button', { name: 'Revoke key' }).click();
  await expect(row).toContainText('Revoked');
  const refused = curl(server, key, '/api/gpu/H100%20SXM/hourly?limit=1');
  expect(refused.status).toBe(401);
  expect(JSON.parse(refused.body)).toMatchObject({ error: 'Unauthorized', message: 'API key is inactive' });

  await open(page, '/settings');
  await expect(page.getByRole('row', { name: /^notebook \(.*hourly 200/ })).toBeVisible();
  expectNoSecret(server, key);
});

/** No file of the database and no line of the log holds the secret part of a key. */
function expectNoSecret(server: Server, key: string): void {
  const secret = Buffer.from(key.slice(15));
  const log = readFileSync(server.logFile, 'utf8');
  for (const file of readdirSync(server.folder, { recursive: true, withFileTypes: true })) {
    if (!file.isFile()) continue;
    expect(readFileSync(join(file.parentPath, file.name)).includes(secret), file.name).toBe(false);
  }
  expect(log).not.toContain(secret.toString());
  expect(log).toContain('/api/create-api-key'); // the log has the requests
}

test('a rotated key works as long as its grace period', async ({ page, server, signIn }) => {
  await signIn('full');
  const old = await createKey(page, 'pipeline');
  await page.getByRole('button', { name: 'Rotate pipeline' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'Now', exact: true }).click();
  await dialog.getByRole('button', { name: 'Rotate key' }).click();
  await expect(dialog.getByText('The old key no longer works.')).toBeVisible();
  const next = (await dialog.getByRole('status').first().textContent())!;
  expect(curl(server, old, '/api/daily-index/all').status).toBe(401);
  expect(curl(server, next, '/api/daily-index/all').status).toBe(200);
});

test('a wrong password is refused with a message', async ({ page, server, expectRefusals }) => {
  expectRefusals(401);
  await submitSignIn(page, { ...accountOf(server, 'free'), password: 'not the password at all' });
  await expect(page.getByRole('alert')).toContainText('Email or password is wrong.');
});

test('an account without a grant sees why it cannot create a key; a member of a Full organization creates one', async ({
  page,
  server,
  signIn,
}) => {
  await signIn('free');
  await open(page, '/settings');
  await expect(
    page.getByText('API keys need an access grant of your own, or an organization on full access.'),
  ).toBeVisible();
  await signIn('member');
  const key = await createKey(page, 'of the fund');
  expect(key).toMatch(/^sk_live_/);
  expect(curl(server, key, '/api/gpu/H100%20SXM/hourly?limit=1').status).toBe(200);
  await expect(page.getByText('Demo Fund').first()).toBeVisible();
});

test('signing out locks the data again', async ({ page, server }) => {
  await submitSignIn(page, accountOf(server, 'premium'));
  await expect(page).toHaveURL(/\/settings$/);
  await open(page, '/');
  const stored = () => page.evaluate(() => JSON.stringify(sessionStorage));
  await expect.poll(stored).toContain('premium@');
  await open(page, '/memory');
  await expect(page.getByText('Available with Premium', { exact: true })).toHaveCount(0);
  await page.getByRole('button', { name: 'Sign out', exact: true }).click();
  await expect(page).toHaveURL(/\/$/);
  expect(await stored()).not.toContain('premium@');
  await page.getByRole('link', { name: 'Memory' }).first().click();
  await expect(page.getByText('Available with Premium', { exact: true })).toBeVisible();
});

test('a reader replaces the password that the operator has set', async ({ page, server, expectRefusals }) => {
  expectRefusals(400);
  const email = 'new.reader@demo.example';
  const password = execFileSync(program, ['account', 'add', email, '--dir', server.folder], {
    encoding: 'utf8',
  }).trim();
  await open(page, '/signin?next=%2Fsettings');
  await page.getByLabel('Email').fill(email);
  await page.getByLabel('Password', { exact: true }).fill(password);
  await page.getByRole('main').getByRole('button', { name: 'Sign in', exact: true }).click();
  await expect(page.getByRole('heading', { name: 'Choose your password' })).toBeVisible();

  const change = async (next: string) => {
    await page.getByLabel('Current password').fill(password);
    await page.getByLabel('New password, 12 to 128 characters').fill(next);
    await page.getByLabel('New password again').fill(next);
    await page.getByRole('button', { name: 'Change password' }).click();
  };
  await change('password1234');
  await expect(page.getByText('This password is too easy to guess')).toBeVisible();
  await change('correct horse battery');
  await expect(page).toHaveURL(/\/settings$/);
  await expect(page.getByRole('region', { name: 'Your sessions' })).toBeVisible();
});

// It ends sessions, so it uses an account that no other test uses on this server.
test('a reader sees where they are signed in, and ends the other sessions', async ({ page, server, browser }) => {
  const contexts = await Promise.all([1, 2].map(() => browser.newContext({ baseURL: server.base })));
  for (const [i, context] of contexts.entries()) {
    const account = accountOf(server, 'trial');
    const response = await context.request.post('/api/session', {
      data: { email: account.email, password: account.password },
      headers: { 'X-Forwarded-For': `10.251.0.${i + 1}`, 'User-Agent': 'curl/8.5.0' },
    });
    expect(response.status()).toBe(200);
  }
  await submitSignIn(page, accountOf(server, 'trial'));
  await expect(page).toHaveURL(/\/settings$/);
  await open(page, '/settings#sessions');
  const table = page.getByRole('region', { name: 'Your sessions' });
  await expect(table.getByRole('row', { name: /\(this one\)/ })).toHaveCount(1);
  const first = table.getByRole('row', { name: /10\.251\.0\.1/ });
  await expect(first).toContainText('curl');
  await first.getByRole('button', { name: /^End the session of curl/ }).click();
  await expect(first).toHaveCount(0);
  expect((await contexts[0]!.request.get('/api/account')).status()).toBe(401);
  expect((await contexts[1]!.request.get('/api/account')).status()).toBe(200);

  await page.getByRole('button', { name: 'Sign out everywhere else' }).click();
  await expect(page.getByText(/sessions? ended\.$/)).toBeVisible();
  await expect(table.getByRole('row', { name: /10\.251\.0\.2/ })).toHaveCount(0);
  expect((await contexts[1]!.request.get('/api/account')).status()).toBe(401);
  await expect(table.getByRole('row', { name: /\(this one\)/ })).toHaveCount(1);
  for (const context of contexts) await context.close();
});

// A trial lasts 72 hours. The server is stopped, and started again at a time after that.
test('a trial ends automatically, and its key with it', async ({ browser, extraHTTPHeaders }) => {
  test.setTimeout(300_000); // it starts two servers, and the second one catches up three days
  const folder = copyOfData();
  const { server: before, stop: stopBefore } = await startDemo(folder);
  const context = await browser.newContext({ baseURL: before.base, extraHTTPHeaders });
  const page = await context.newPage();
  await page.clock.setFixedTime(now);
  await submitSignIn(page, accountOf(before, 'trial'));
  await expect(page).toHaveURL(/\/settings$/);
  const key = await createKey(page, 'trial notebook');
  expect(key).toMatch(/^sk_prem_/);
  await expect(page.getByRole('timer', { name: 'Time left of the trial' })).toContainText(/\d\d:\d\d:\d\d/);
  expect(curl(before, key, '/api/memory-index').status).toBe(200);
  expect(curl(before, key, '/api/gpu/H100%20SXM/hourly').status).toBe(403);

  await stopBefore();
  const later = '2026-11-17T21:20:30Z';
  const { server: after, stop: stopAfter } = await startDemo(folder, later);
  const refused = curl(after, key, '/api/memory-index');
  expect(refused.status).toBe(401);
  expect(JSON.parse(refused.body)).toMatchObject({ message: 'API key is inactive' });

  await page.clock.setFixedTime(later);
  await page.goto(`${after.base}/settings`);
  await expect(page.getByText('Sign in to see your settings')).toBeVisible(); // no one has used the session for a day
  await page.goto(`${after.base}/signin?next=%2Fsettings`);
  const trial = accountOf(after, 'trial');
  await page.getByLabel('Email').fill(trial.email);
  await page.getByLabel('Password', { exact: true }).fill(trial.password);
  await page.getByRole('main').getByRole('button', { name: 'Sign in', exact: true }).click();
  await expect(page).toHaveURL(/\/settings$/);
  await expect(page.getByText('No grant is active.')).toBeVisible();
  await expect(
    page.getByRole('region', { name: 'Your API keys' }).getByRole('row', { name: /^trial notebook/ }),
  ).toContainText('Ended');
  await page.goto(`${after.base}/memory`);
  await expect(page.getByText('Available with Premium', { exact: true })).toBeVisible();
  await context.close();
  await stopAfter();
  remove(folder);
});
