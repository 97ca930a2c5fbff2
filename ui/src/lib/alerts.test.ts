import { describe as group, expect, test } from 'vitest';
import {
  describe,
  disabledSince,
  EntryError,
  outcome,
  problemOf,
  targets,
  typedNumber,
  type Alert,
  type Delivery,
  type Webhook,
} from './alerts';
import { ApiError } from './api';

const alert = (given: Partial<Alert>) =>
  ({ gpu_type: 'H200', region: 'global', granularity: 'daily', threshold: 3, ...given }) as Alert;

group('what an alert watches', () => {
  const f = (given: Partial<Alert>, want: string) => test(want, () => expect(describe(alert(given))).toBe(want));
  f({ type: 'price_above' }, 'H200: daily value above $3.0000');
  f({ type: 'price_below', region: 'us-east', granularity: 'hourly' }, 'H200 in us-east: hourly value below $3.0000');
  f(
    { type: 'price_change', percent: 2.5, window: '7d', direction: 'either' },
    'H200: up or down by 2.5% within 7 days',
  );
  f({ type: 'price_change', percent: 1, window: '1h', direction: 'down' }, 'H200: down by 1% within 1 hour');
  f({ type: 'correction' }, 'H200: daily values are corrected');
  f({ type: 'missed_fixing' }, 'H200: a day without a value');
  f({ type: 'new_model', gpu_type: null, region: null }, 'Any GPU model: its first daily value');
});

group('where an alert is sent', () => {
  const hooks = [{ id: 'wh_1', name: 'my service' }] as Webhook[];
  const f = (given: Partial<Alert>, want: string) => test(want, () => expect(targets(alert(given), hooks)).toBe(want));
  f({ webhook_id: 'wh_1', email: true }, 'webhook “my service” and email');
  f({ webhook_id: null, email: true }, 'email');
  f({ webhook_id: 'wh_2', email: false }, 'webhook “wh_2”');
  f({ webhook_id: null, email: false }, 'nothing');
});

group('what became of a delivery', () => {
  const f = (given: Partial<Delivery>, want: string) =>
    test(want, () => expect(outcome({ response_code: null, error: null, ...given } as Delivery)).toBe(want));
  f({ status: 'delivered', response_code: 204 }, 'Delivered (204)');
  f({ status: 'pending' }, 'Waits');
  f(
    { status: 'pending', error: 'timeout' },
    'Waits for another attempt: Your server did not respond within ten seconds',
  );
  f(
    { status: 'failed', error: 'unsuccessful_status', response_code: 500 },
    'Failed: Your server responded with an error (500)',
  );
  f({ status: 'failed', error: 'a_later_word' }, 'Failed: a_later_word');
});

test('a disabled webhook says why and since when', () => {
  const f = (disabled_reason: string, want: string) =>
    expect(disabledSince({ disabled_reason, disabled_at: '2026-02-03T21:10:00.000Z' } as Webhook)).toBe(want);
  f('failing', 'Every attempt failed for 24 hours. Disabled since 2026-02-03 21:10 UTC.');
  f('a_later_word', 'a_later_word Disabled since 2026-02-03 21:10 UTC.');
});

group('the field that an error is about', () => {
  const f = (code: string, param: string, want: string) =>
    test(`${code} ${param}`.trim(), () =>
      expect(problemOf(new ApiError('No.', 400, code, '', 0, param))).toEqual({ field: want, message: 'No.' }),
    );
  f('invalid_parameter', 'threshold', 'threshold');
  f('no_target', '', 'webhook_id');
  f('no_mail', '', 'email');
  f('too_many_alerts', '', '');
});

test('an entry that cannot be sent is at its field', () =>
  expect(problemOf(new EntryError('percent', 'Enter a number.'))).toEqual({
    field: 'percent',
    message: 'Enter a number.',
  }));

test('typed numbers', () => {
  const f = (text: string, want: number | null | undefined) => expect(typedNumber(text), text).toBe(want);
  f('', undefined);
  f('  ', undefined);
  f(' 2.35 ', 2.35);
  f('.5', 0.5);
  f('0', 0);
  f('2,35', null);
  f('-1', null);
  f('1e3', null);
  f('2.', null);
  f('NaN', null);
});
