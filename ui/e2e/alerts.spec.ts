import { createHmac } from 'node:crypto';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { wantNoViolation } from './axe';
import { accountOf, expect, open, submitSignIn, test, wantNoSidewaysScroll } from './test';

interface Message {
  headers: IncomingHttpHeaders;
  body: string;
}

/** A receiver of webhooks on loopback. */
async function receiver() {
  const got: Message[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (piece) => (body += piece));
    request.on('end', () => {
      got.push({ headers: request.headers, body });
      response.writeHead(204).end();
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    got,
    close: () => new Promise((done) => (server.closeAllConnections(), server.close(done))),
  };
}

/** The signature of a message, as Standard Webhooks defines it. */
function signature(secret: string, { headers, body }: Message): string {
  const key = Buffer.from(secret.replace('whsec_', ''), 'base64');
  const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`;
  return `v1,${createHmac('sha256', key).update(signed).digest('base64')}`;
}

test('a reader makes a webhook and an alert, tests, replays, rotates and deletes them', async ({
  page,
  server,
  expectRefusals,
}) => {
  const { url, got, close } = await receiver();
  await submitSignIn(page, accountOf(server, 'premium'));
  await expect(page).toHaveURL(/\/settings$/);
  await open(page, '/settings#webhooks');
  const webhooks = page.getByRole('region', { name: 'Webhooks', exact: true });
  const alerts = page.getByRole('region', { name: 'Alerts', exact: true });
  const dialog = page.getByRole('dialog');

  // Errors are at the field that they are about, which gets the focus.
  await webhooks.getByRole('button', { name: 'Create webhook' }).click();
  await dialog.getByLabel('Name, to recognize it by').fill('my service');
  await dialog.getByLabel('URL').fill('https://10.1.2.3/hook');
  expectRefusals(400);
  await dialog.getByRole('button', { name: 'Create webhook' }).click();
  await expect(dialog.getByRole('alert')).toContainText('Invalid value for "url"');
  await expect(dialog.getByLabel('URL')).toBeFocused();
  await expect(dialog.getByLabel('URL')).toHaveAccessibleDescription(/Invalid value for "url"/);

  // The secret is shown once.
  await dialog.getByLabel('URL').fill(url);
  await dialog.getByLabel('URL').press('Enter');
  await expect(dialog.getByText('Copy it now. You cannot see it again.')).toBeVisible();
  await expect(dialog).toBeFocused(); // what had the focus is gone
  const secret = (await dialog.getByRole('status').first().textContent())!;
  expect(secret).toMatch(/^whsec_/);
  await wantNoViolation(page);
  await dialog.getByRole('button', { name: 'Done' }).click();
  await expect(page.getByText(secret)).toHaveCount(0);

  // A test message arrives, signed.
  const hook = webhooks.getByRole('listitem').filter({ hasText: 'my service' });
  await hook.getByRole('button', { name: 'Test my service' }).click();
  await expect(hook.getByRole('status')).toHaveText('Test message: Delivered (204).');
  expect(got).toHaveLength(1);
  expect(got[0]!.headers['webhook-signature']).toBe(signature(secret, got[0]!));

  // It is in the log, and is sent again under the same id.
  await hook.getByRole('button', { name: 'Deliveries: my service' }).click();
  const log = dialog.getByRole('region', { name: 'Deliveries to my service' });
  await expect(log.getByRole('row')).toHaveCount(2);
  await log.getByRole('button', { name: /^Replay msg_\w+$/ }).click();
  await expect(dialog.getByRole('status').filter({ hasText: 'is sent again.' })).toBeVisible();
  await expect
    .poll(() => got.map((message) => message.headers['webhook-id']))
    .toEqual(Array(2).fill(got[0]!.headers['webhook-id']));
  await dialog.getByRole('button', { name: 'Refresh' }).click();
  await expect(log.getByRole('row', { name: /\(again\).*Delivered/ })).toBeVisible();
  await wantNoViolation(page);
  await dialog.getByRole('button', { name: 'Close' }).click();

  // After a rotation both secrets sign.
  await hook.getByRole('button', { name: 'Rotate secret: my service' }).click();
  await dialog.getByRole('button', { name: 'Rotate secret' }).click();
  await expect(dialog).toContainText('The old secret signs too until');
  const next = (await dialog.getByRole('status').first().textContent())!;
  expect(next).not.toBe(secret);
  await dialog.getByRole('button', { name: 'Done' }).click();
  await expect(hook).toContainText('the old secret signs too until');

  // An alert without a threshold is refused at the field.
  await alerts.getByRole('button', { name: 'Create alert' }).click();
  await dialog.getByLabel('Name, which is in every message').fill('H100 is expensive');
  await dialog.getByRole('combobox', { name: 'GPU model', exact: true }).selectOption('H100 SXM');
  await dialog.getByLabel('Threshold, USD per GPU-hour').fill('three');
  await dialog.getByRole('button', { name: 'Create alert' }).click();
  await expect(dialog.getByLabel('Threshold, USD per GPU-hour')).toHaveAccessibleDescription(/Enter a number/);
  await expect(dialog.getByLabel('Threshold, USD per GPU-hour')).toBeFocused();
  await dialog.getByLabel('Threshold, USD per GPU-hour').fill('3.125');
  await expect(dialog.getByRole('option', { name: 'Hourly (Full access)' })).toBeDisabled();
  await wantNoViolation(page);
  await dialog.getByRole('button', { name: 'Create alert' }).click();
  const alert = alerts.getByRole('listitem').filter({ hasText: 'H100 is expensive' });
  await expect(alert).toContainText('H100 SXM: daily value above $3.1250');
  await expect(alert).toContainText('Sent to webhook “my service” · has not fired yet');

  await alert.getByRole('button', { name: 'Pause H100 is expensive' }).click();
  await expect(alert).toContainText('Paused');
  await alert.getByRole('button', { name: 'Resume H100 is expensive' }).click();
  await expect(alert).toContainText('Active');
  await alert.getByRole('button', { name: 'Edit H100 is expensive' }).click();
  await dialog.getByLabel('Threshold, USD per GPU-hour').fill('4');
  await dialog.getByRole('button', { name: 'Save alert' }).click();
  await expect(alert).toContainText('above $4.0000');

  // A webhook that is disabled says why, and so does the alert.
  await hook.getByRole('button', { name: 'Disable my service' }).click();
  await dialog.getByRole('button', { name: 'Disable webhook' }).click();
  await expect(hook).toContainText('You disabled it.');
  await expect(alert).toContainText('Cannot be delivered');
  await expect(alert).toContainText('Everything that the alert is sent to is disabled or deleted.');
  await wantNoViolation(page);
  await wantNoSidewaysScroll(page);
  await hook.getByRole('button', { name: 'Enable my service' }).click();
  await expect(alert).toContainText('Active');

  for (const [region, name] of [
    [alerts, 'Delete H100 is expensive'],
    [webhooks, 'Delete my service'],
  ] as const) {
    await region.getByRole('button', { name }).click();
    await expect(dialog).toContainText(/stops watching|cannot be undone/);
    await dialog.getByRole('button', { name: /^Delete (alert|webhook)$/ }).click();
    await expect(dialog).toBeHidden();
  }
  await expect(alerts).toContainText('You have no alert yet.');
  await expect(webhooks).toContainText('You have no webhook yet.');
  await close();
});
