// Alerts and webhooks of the signed-in account.
import { ApiError, clearCache, get, send, type ResponseBody, type Row } from './api';
import type { components } from '../../generated/api';
import { instant, number, price } from './format';

export type Alert = Row<'/api/alerts'>;
export type AlertType = Alert['type'];
export type Alerts = ResponseBody<'/api/alerts'>;
export type NewAlert = components['schemas']['NewAlert'];
export type AlertChange = components['schemas']['AlertChange'];
export type Webhook = Row<'/api/webhooks'>;
export type Webhooks = ResponseBody<'/api/webhooks'>;
export type WithSecret = ResponseBody<'/api/webhooks', 'post'>;
export type Delivery = Row<'/api/webhooks/{id}/deliveries'>;

/** Clears what a change makes old: a webhook that is disabled or deleted also changes the alerts that are sent there. */
async function changed<T>(change: Promise<T>): Promise<T> {
  const result = await change;
  clearCache('/api/alerts');
  clearCache('/api/webhooks');
  return result;
}

export const listAlerts = () => get('/api/alerts');
export const createAlert = (alert: NewAlert) => changed(send('post', '/api/alerts', alert));
export const changeAlert = (id: string, change: AlertChange) =>
  changed(send('patch', '/api/alerts/{id}', change, { path: { id } }));
export const deleteAlert = (id: string) => changed(send('delete', '/api/alerts/{id}', undefined, { path: { id } }));

export const listWebhooks = () => get('/api/webhooks');
export const createWebhook = (name: string, url: string) => changed(send('post', '/api/webhooks', { name, url }));
export const changeWebhook = (id: string, change: { name?: string; url?: string; enabled?: boolean }) =>
  changed(send('patch', '/api/webhooks/{id}', change, { path: { id } }));
export const deleteWebhook = (id: string) => changed(send('delete', '/api/webhooks/{id}', undefined, { path: { id } }));
export const rotateSecret = (id: string) =>
  changed(send('post', '/api/webhooks/{id}/secret/rotate', undefined, { path: { id } }));
export const testWebhook = (id: string) =>
  changed(send('post', '/api/webhooks/{id}/test', undefined, { path: { id } }));
export const replay = (id: string, delivery: number) =>
  changed(
    send('post', '/api/webhooks/{id}/deliveries/{delivery}/replay', undefined, {
      path: { id, delivery: String(delivery) },
    }),
  );

/** The deliveries of a webhook, newest first: as they are now, not as they were a minute ago. */
export function listDeliveries(id: string, before?: number) {
  clearCache('/api/webhooks/');
  return get('/api/webhooks/{id}/deliveries', { path: { id }, query: { before, limit: 20 } });
}

export const typeNames: Record<AlertType, string> = {
  price_above: 'Price is above a threshold',
  price_below: 'Price is below a threshold',
  price_change: 'Price changes by a percentage',
  correction: 'Values are corrected',
  missed_fixing: 'A day has no value',
  new_model: 'A GPU model has its first value',
};

/** A field that only some types have. */
export type RuleField =
  'gpu_type' | 'region' | 'granularity' | 'threshold' | 'percent' | 'window' | 'direction' | 'hysteresis_percent';

/** The fields of each type, as docs/alerts.md lists them. */
export const fieldsOf: Record<AlertType, readonly RuleField[]> = {
  price_above: ['gpu_type', 'region', 'granularity', 'threshold', 'hysteresis_percent'],
  price_below: ['gpu_type', 'region', 'granularity', 'threshold', 'hysteresis_percent'],
  price_change: ['gpu_type', 'region', 'window', 'percent', 'direction', 'hysteresis_percent'],
  correction: ['gpu_type', 'region', 'granularity'],
  missed_fixing: ['gpu_type', 'region'],
  new_model: ['granularity'],
};

/** What a change is measured over. */
export const windowNames = { '1h': '1 hour', '1d': '1 day', '7d': '7 days' } as const;
export const directionNames = { up: 'Up', down: 'Down', either: 'Up or down' } as const;

/** What an alert watches, in a sentence. */
export function describe(alert: Alert): string {
  const where = alert.region && alert.region !== 'global' ? ` in ${alert.region}` : '';
  const grain = alert.granularity === 'hourly' ? 'hourly' : 'daily';
  const gpu = `${alert.gpu_type}${where}`;
  switch (alert.type) {
    case 'price_above':
      return `${gpu}: ${grain} value above ${price(alert.threshold ?? 0)}`;
    case 'price_below':
      return `${gpu}: ${grain} value below ${price(alert.threshold ?? 0)}`;
    case 'price_change': {
      const direction = { up: 'up', down: 'down', either: 'up or down' }[alert.direction ?? 'either'];
      return `${gpu}: ${direction} by ${number(alert.percent ?? 0)}% within ${windowNames[alert.window ?? '1d']}`;
    }
    case 'correction':
      return `${gpu}: ${grain} values are corrected`;
    case 'missed_fixing':
      return `${gpu}: a day without a value`;
    case 'new_model':
      return `Any GPU model: its first ${grain} value`;
  }
}

/** Where an alert is sent. */
export function targets(alert: Alert, webhooks: readonly Webhook[]): string {
  const webhook = webhooks.find((one) => one.id === alert.webhook_id);
  const list = [alert.webhook_id && `webhook “${webhook?.name ?? alert.webhook_id}”`, alert.email && 'email'];
  return list.filter(Boolean).join(' and ') || 'nothing';
}

export const alertStatuses: Record<Alert['status'], string> = {
  active: 'Active',
  paused: 'Paused',
  no_access: 'No access',
  undeliverable: 'Cannot be delivered',
};

const disabledReasons: Record<string, string> = {
  owner: 'You disabled it.',
  failing: 'Every attempt failed for 24 hours.',
  gone: 'It responded 410 Gone.',
  account_closed: 'The account was closed.',
};

/** Since when and why a webhook is disabled. */
export function disabledSince(webhook: Webhook): string {
  const reason = disabledReasons[webhook.disabled_reason ?? ''] ?? webhook.disabled_reason ?? '';
  return `${reason}${webhook.disabled_at ? ` Disabled since ${instant(webhook.disabled_at)}.` : ''}`.trim();
}

// The words of docs/alerts.md.
const deliveryErrors: Record<string, string> = {
  unsuccessful_status: 'Your server responded with an error',
  redirect: 'Your server responded with a redirect, which is not followed',
  timeout: 'Your server did not respond within ten seconds',
  name_not_resolved: 'The name of your server was not found',
  connection_failed: 'Your server could not be reached',
  tls_failed: 'The certificate of your server is not valid',
  address_not_allowed: 'This server does not connect to that address',
  url_not_allowed: 'This server does not connect to that URL',
  disabled: 'The webhook was disabled before it was sent',
};

/** How a delivery ended, or what it waits for. */
export function outcome(delivery: Delivery): string {
  const code = delivery.response_code === null ? '' : ` (${delivery.response_code})`;
  const error = delivery.error && (deliveryErrors[delivery.error] ?? delivery.error);
  if (delivery.status === 'delivered') return `Delivered${code}`;
  if (delivery.status === 'failed') return `Failed: ${error ?? 'not sent'}${code}`;
  return error ? `Waits for another attempt: ${error}${code}` : 'Waits';
}

/** A problem with what was entered: the field, if it is about one, and a message. */
export interface Problem {
  field: string;
  message: string;
}

// Errors that are about a field although the API names none.
const fieldOfCode: Record<string, string> = {
  no_target: 'webhook_id',
  unknown_webhook: 'webhook_id',
  no_mail: 'email',
};

/** An entry that cannot even be sent. */
export class EntryError extends Error {
  constructor(
    readonly field: string,
    message: string,
  ) {
    super(message);
  }
}

/** What an error says about the fields of a form. */
export function problemOf(cause: unknown): Problem {
  if (cause instanceof EntryError) return { field: cause.field, message: cause.message };
  const error = ApiError.from(cause);
  return { field: error.param || (fieldOfCode[error.code] ?? ''), message: error.message };
}

/** Reads a number as it was typed; undefined if nothing was, null if it is none. */
export function typedNumber(text: string): number | undefined | null {
  const typed = text.trim();
  if (typed === '') return undefined;
  return /^\d*\.?\d+$/.test(typed) ? Number(typed) : null;
}
