import { createHmac } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { BrowserContext, CDPSession, Page } from '@playwright/test';
import { axe, violations } from './axe';
import { now, type Server } from './server';
import { expect, makeAccount, submitSignIn, test as base, watch } from './test';

interface Fixtures {
  context: BrowserContext;
  page: Page;
}

// Second factors end sessions, so these tests have accounts of their own. Passkeys work on localhost, not on 127.0.0.1.
const test = base.extend<Fixtures>({
  context: async ({ browser, server, extraHTTPHeaders }, use) => {
    const context = await browser.newContext({ baseURL: onLocalhost(server), extraHTTPHeaders });
    await use(context);
    await context.close();
  },
  page: async ({ context, server }, use) => {
    const page = await context.newPage();
    const problems: string[] = [];
    watch(page, onLocalhost(server), problems);
    await page.clock.setFixedTime(now);
    await use(page);
    expect(problems).toEqual([]);
  },
});

const onLocalhost = (server: Server) => server.base.replace('127.0.0.1', 'localhost');

/** What an authenticator app shows for a secret in base32 at a time of the server. */
function totp(secret: string, at: number): string {
  const bits = [...secret]
    .map((c) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(c).toString(2).padStart(5, '0'))
    .join('');
  const key = Buffer.from(bits.match(/.{8}/g)!.map((byte) => parseInt(byte, 2)));
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(at / 30_000)));
  const sum = createHmac('sha1', key).update(counter).digest();
  const value = sum.readUInt32BE(sum.at(-1)! & 15) & 0x7fffffff;
  return String(value % 1_000_000).padStart(6, '0');
}

/** The server's time: it began at a fixed one. */
const serverTime = (server: Server) => Date.parse(now) + Date.now() - server.startedAt;

/** Adds an authenticator to the browser that confirms everything. */
async function addAuthenticator(page: Page): Promise<{ cdp: CDPSession; authenticatorId: string }> {
  const cdp = await page.context().newCDPSession(page);
  await cdp.send('WebAuthn.enable');
  const { authenticatorId } = await cdp.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  return { cdp, authenticatorId };
}

async function signOut(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Sign out', exact: true }).click();
  await expect(page).toHaveURL(/\/$/);
}

const section = (page: Page) => page.getByRole('region', { name: 'Second factor', exact: true });

/** The recovery codes of the dialog that shows them once. */
async function takeCodes(page: Page): Promise<string[]> {
  const dialog = page.getByRole('dialog', { name: 'Your recovery codes' });
  await expect(dialog).toBeVisible();
  const codes = await dialog.getByRole('list', { name: 'Recovery codes' }).getByRole('listitem').allTextContents();
  expect(codes).toHaveLength(10);
  await dialog.getByRole('button', { name: 'Done' }).click();
  await expect(dialog).toBeHidden();
  return codes;
}

async function wantAccessible(page: Page): Promise<void> {
  await page.evaluate(axe);
  expect(await violations(page)).toEqual([]);
}

test('a passkey is a second factor, and signs in without a password', async ({ page, server, expectRefusals }) => {
  const account = await makeAccount(server, 'passkey@demo.example');
  const { cdp, authenticatorId } = await addAuthenticator(page);
  await submitSignIn(page, account);
  await expect(page).toHaveURL(/\/settings$/);
  await section(page).getByLabel('Name of a new passkey').fill('Laptop');
  await section(page).getByRole('button', { name: 'Add a passkey' }).click();
  await takeCodes(page);
  await expect(page.getByRole('region', { name: 'Your passkeys' }).getByRole('row', { name: /^Laptop/ })).toBeVisible();
  await wantAccessible(page);

  await signOut(page);
  await submitSignIn(page, account);
  await expect(page.getByRole('heading', { name: 'Second factor' })).toBeVisible();
  expect((await page.request.get('/api/account')).status()).toBe(401);
  await wantAccessible(page);
  await page.getByRole('button', { name: 'Use a passkey' }).click();
  await expect(page).toHaveURL(/\/settings$/);

  await signOut(page);
  await page.goto('/signin?next=%2Fsettings');
  await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
  await expect(page).toHaveURL(/\/settings$/);
  await expect(page.getByText(account.email).first()).toBeVisible();

  // A copy of the passkey, whose count is behind, is refused.
  await signOut(page);
  const { credentials } = await cdp.send('WebAuthn.getCredentials', { authenticatorId });
  expect(credentials).toHaveLength(1);
  expect(credentials[0]!.signCount).toBeGreaterThan(1);
  await cdp.send('WebAuthn.removeCredential', { authenticatorId, credentialId: credentials[0]!.credentialId });
  await cdp.send('WebAuthn.addCredential', { authenticatorId, credential: { ...credentials[0]!, signCount: 0 } });
  expectRefusals(401);
  await page.goto('/signin');
  await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
  await expect(page.getByRole('alert')).toContainText('The passkey was not accepted.');
  await expect.poll(() => readFileSync(server.logFile, 'utf8').includes('sign count went back')).toBe(true);

  // Without a fingerprint or a PIN, a passkey alone is not enough.
  await cdp.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: false });
  await page.goto('/signin');
  await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
  await expect(page.getByRole('alert')).toContainText('No passkey was used.');
  expect((await page.request.get('/api/account')).status()).toBe(401);
});

test('an authenticator app is a second factor, and a recovery code replaces it', async ({
  page,
  server,
  expectRefusals,
}) => {
  const account = await makeAccount(server, 'app@demo.example');
  await submitSignIn(page, account);
  await expect(page).toHaveURL(/\/settings$/);
  await section(page).getByRole('button', { name: 'Add an app' }).click();
  const dialog = page.getByRole('dialog', { name: 'Add an authenticator app' });
  const secret = (await dialog.getByLabel('Secret', { exact: true }).textContent())!;
  expect(secret).toMatch(/^[A-Z2-7]{32}$/);
  await expect(dialog.getByRole('img', { name: 'QR code of the secret' })).toBeVisible();
  await wantAccessible(page);
  expectRefusals(400, 401);
  await dialog.getByLabel('Code that the app shows').fill('000000');
  await dialog.getByRole('button', { name: 'Add the app' }).click();
  await expect(dialog.getByRole('alert')).toContainText('The code is wrong.');
  await dialog.getByLabel('Code that the app shows').fill(totp(secret, serverTime(server)));
  await dialog.getByRole('button', { name: 'Add the app' }).click();
  const codes = await takeCodes(page);
  await expect(section(page)).toContainText('10 codes are left.');

  await signOut(page);
  await submitSignIn(page, account);
  const code = totp(secret, serverTime(server) + 30_000); // of the next step, which is new without waiting
  await page.getByLabel('Code of your authenticator app').fill(code);
  await page.getByRole('button', { name: 'Continue' }).click();
  await expect(page).toHaveURL(/\/settings$/);

  await signOut(page);
  await submitSignIn(page, account);
  await page.getByLabel('Code of your authenticator app').fill(code);
  await page.getByRole('button', { name: 'Continue' }).click();
  await expect(page.getByRole('alert')).toContainText('was used before');
  await page.getByRole('button', { name: 'Use a recovery code' }).click();
  await wantAccessible(page);
  await page.getByLabel('Recovery code').fill(codes[0]!.toLowerCase());
  await page.getByRole('button', { name: 'Continue' }).click();
  await expect(page).toHaveURL(/\/settings$/);
  await expect(section(page)).toContainText('9 codes are left.');

  // Neither the database nor the log has the secret or a code.
  const files = readdirSync(server.folder, { recursive: true, withFileTypes: true }).filter((file) => file.isFile());
  for (const file of files) {
    const content = readFileSync(join(file.parentPath, file.name));
    for (const text of [secret, codes[1]!]) expect(content.includes(text), file.name).toBe(false);
  }
});
