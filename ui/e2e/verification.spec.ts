import { createHash } from 'node:crypto';
import type { Page } from '@playwright/test';
import { wantNoViolation } from './axe';
import type { Server } from './server';
import { expect, open, test } from './test';

// The dashboard verifies values in the browser. What its verifier accepts and refuses is tested with vectors in
// src/lib/verify.test.ts; this is about the page, and about the texts that the server really sends.

const proof = '/proof/H100%20SXM?at=2026-11-12T21:00:00.000Z&grain=daily'; // H100 SXM is free
const verdict = 'Verified in your browser';

const step = (page: Page, title: string) => page.getByRole('listitem').filter({ hasText: title });
const readText = async (server: Server, path: string) => (await fetch(server.base + path)).text();

/** Lets the browser have kept something about the server's log. */
async function keep(page: Page, kept: { log: string; key: string; checkpoint: string }): Promise<void> {
  await page.addInitScript(
    (logs) => {
      if (!localStorage.getItem('assay.logs')) localStorage.setItem('assay.logs', logs);
    },
    JSON.stringify([kept]),
  );
}

/** The key of a log in the form of /log/vkey. */
function keyOf(log: string, bytes: Buffer): string {
  const raw = Buffer.concat([Buffer.from([1]), bytes]);
  const hash = createHash('sha256').update(`${log}\n`).update(raw).digest('hex').slice(0, 8);
  return `${log}+${hash}+${raw.toString('base64')}`;
}

const checkpointOf = (log: string, size: number, root: Buffer) =>
  `${log}\n${size}\n${root.toString('base64')}\n\n— ${log} AAAAAAAA\n`;

test('a value of a free GPU is verified without an account', async ({ page }) => {
  await open(page, proof);
  await expect(page.getByText(verdict, { exact: true })).toBeVisible();
  for (const title of ['Hash of the record', 'Entry in the log', 'Inclusion in', 'Signature of the checkpoint'])
    await expect(step(page, title)).toContainText('Passed');
  await expect(step(page, 'Signatures of witnesses')).toContainText('No witness has signed this checkpoint.');
  await expect(step(page, 'Consistency')).toContainText('This is the first checkpoint that this browser keeps');

  await open(page, proof);
  await expect(page.getByText(verdict, { exact: true })).toBeVisible();
  await expect(step(page, 'Consistency')).toContainText('Passed');
});

test('an hourly value is verified, also as of an earlier time', async ({ page, signIn }) => {
  await signIn('full');
  await open(page, '/proof/H100%20SXM?at=2026-11-12T20:00:00.000Z&grain=hourly');
  await expect(page.getByText(verdict, { exact: true })).toBeVisible();
  await page.getByRole('slider', { name: 'As of' }).press('ArrowLeft');
  await expect(page).toHaveURL(/as_of=/);
  await expect(page.getByText(verdict, { exact: true })).toBeVisible();
});

test('a changed digit fails the hash, and there is no verdict', async ({ page }) => {
  await page.route('**/determination?*', async (route) => {
    const response = await route.fetch();
    const text = await response.text();
    const changed = text.replace(/("index_value":\d+\.\d*)(\d)/, (_, begin: string, digit: string) =>
      String(begin + ((Number(digit) + 1) % 10)),
    );
    expect(changed).not.toBe(text);
    await route.fulfill({ response, body: changed });
  });
  await page.emulateMedia({ colorScheme: 'light' });
  await open(page, proof);
  await expect(step(page, 'Hash of the record')).toContainText('Failed');
  await expect(step(page, 'Hash of the record')).toContainText(/Expected a record with the hash .* but the text/);
  await expect(page.getByText('Not verified: 1 of 6 checks failed')).toBeVisible();
  await expect(page.getByText(verdict, { exact: true })).toHaveCount(0);
  await wantNoViolation(page);
});

test('a record that is in no checkpoint yet is neither verified nor wrong', async ({ page }) => {
  await page.route('**/determination?*', async (route) => {
    const response = await route.fetch();
    const text = await response.text();
    await route.fulfill({ response, body: text.replace(/"inclusion":\{.*\},"data"/, '"inclusion":null,"data"') });
  });
  await open(page, proof);
  await expect(page.getByText('Not in a signed checkpoint yet', { exact: true })).toBeVisible();
  await expect(page.getByText('Failed', { exact: true })).toHaveCount(0);
});

test('a page without cryptography verifies nothing, and says why', async ({ page }) => {
  // As on a page that was loaded over plain http from another host.
  await page.addInitScript(() => Object.defineProperty(Crypto.prototype, 'subtle', { get: () => undefined }));
  await open(page, proof);
  await expect(page.getByText('Not verified: this page was not loaded over https or from localhost')).toBeVisible();
  await expect(page.getByText('Not checked', { exact: true })).toHaveCount(6);
});

test('the log must continue what the browser has kept', async ({ page, server }) => {
  const key = (await readText(server, '/log/vkey')).trim();
  const log = key.split('+')[0]!;
  // The root of a tree with one entry is the hash of that entry.
  const entries = Buffer.from(await (await fetch(`${server.base}/log/tile/entries/000`)).arrayBuffer());
  const first = entries.subarray(2, 2 + entries.readUInt16BE(0));
  const root = createHash('sha256')
    .update(Buffer.from([0]))
    .update(first)
    .digest();
  await keep(page, { log, key, checkpoint: checkpointOf(log, 1, root) });
  await open(page, proof);
  await expect(step(page, 'Consistency')).toContainText('entries begin with the 1 that this browser saw before');
  await expect(page.getByText(verdict, { exact: true })).toBeVisible();
});

test('another history than the browser has kept is refused', async ({ page, server }) => {
  const key = (await readText(server, '/log/vkey')).trim();
  const log = key.split('+')[0]!;
  await keep(page, { log, key, checkpoint: checkpointOf(log, 1000, Buffer.alloc(32, 7)) });
  await open(page, proof);
  await expect(step(page, 'Consistency')).toContainText('the history of the log was changed');
  await expect(page.getByText(verdict, { exact: true })).toHaveCount(0);
});

test('another key than the browser has kept is refused until the reader accepts it', async ({ page, server }) => {
  const log = (await readText(server, '/log/vkey')).split('+')[0]!;
  await keep(page, { log, key: keyOf(log, Buffer.alloc(32, 9)), checkpoint: '' });
  await open(page, proof);
  await expect(step(page, 'Signature of the checkpoint')).toContainText('Failed');
  await expect(page.getByText(verdict, { exact: true })).toHaveCount(0);
  await page.getByRole('button', { name: 'accept this key' }).click();
  await expect(page.getByText(verdict, { exact: true })).toBeVisible();
});

test('keys of witnesses are checked before they are saved, and asked for afterwards', async ({ page }) => {
  await open(page, proof);
  await page.getByText('Keys of witnesses').click();
  const keys = page.getByRole('textbox', { name: /One on each line/ });
  await keys.fill('witness.example');
  await page.getByRole('button', { name: 'Save keys' }).click();
  await expect(page.getByRole('alert')).toContainText('is not the key of a witness');
  const raw = Buffer.concat([Buffer.from([4]), Buffer.alloc(32, 9)]);
  const hash = createHash('sha256').update('witness.example\n').update(raw).digest('hex').slice(0, 8);
  await keys.fill(`witness.example+${hash}+${raw.toString('base64')}`);
  await page.getByRole('button', { name: 'Save keys' }).click();
  await expect(step(page, 'Signatures of witnesses')).toContainText('witness.example: has not signed this checkpoint');
  await expect(page.getByText('Not verified: not everything could be checked')).toBeVisible();
});
