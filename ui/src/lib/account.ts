// API keys and usage of the signed-in account.
import { clearCache, get, send, type ResponseBody, type Row } from './api';
import type { Plan, Tier } from './session.svelte';

export type Key = Row<'/api/keys'>;
export type Keys = ResponseBody<'/api/keys'>;

/** A new key: the only response that holds the key itself. */
export type NewKey = ResponseBody<'/api/create-api-key', 'post'>;

export type UsageRow = Row<'/api/usage'>;

/** Somewhere the account is signed in. */
export type Session = Row<'/api/account/sessions'>;

export const listKeys = () => get('/api/keys');
export const createKey = (name: string) => withKeysCleared(send('post', '/api/create-api-key', { name }));
export const revokeKey = (id: string) => withKeysCleared(send('delete', '/api/keys/{id}', undefined, { path: { id } }));
export const rotateKey = (id: string, graceHours: number) =>
  withKeysCleared(send('post', '/api/keys/{id}/rotate', { grace_hours: graceHours }, { path: { id } }));
export const changePassword = (current: string, next: string) =>
  send('put', '/api/account/password', { current, next });

export const listSessions = () => get('/api/account/sessions');
export const endSession = (id: string) =>
  withSessionsCleared(send('delete', '/api/account/sessions/{id}', undefined, { path: { id } }));
export const endOtherSessions = () => withSessionsCleared(send('delete', '/api/account/sessions', undefined));

/** Clears the cached list of sessions after a change to it succeeded. */
async function withSessionsCleared<T>(change: Promise<T>): Promise<T> {
  const result = await change;
  clearCache('/api/account/sessions');
  return result;
}

/** Clears the cached list of keys after a change to it succeeded. */
async function withKeysCleared<T>(change: Promise<T>): Promise<T> {
  const result = await change;
  clearCache('/api/keys');
  return result;
}

/** The usage of the last days up to today (UTC). */
export function usage(days: number): Promise<ResponseBody<'/api/usage'>> {
  const startDate = new Date(Date.now() - (days - 1) * 86_400_000).toISOString().slice(0, 10);
  return get('/api/usage', { query: { startDate } });
}

/** The API's message for an account that may not create keys. It explains the locked button before any request is sent. */
export const keyRefusal = 'API keys need an access grant of your own, or an organization on full access.';

export const planNames: Record<Plan, string> = {
  none: 'Free',
  trial: 'Premium trial',
  premium: 'Premium',
  full: 'Full',
};
export const tierNames: Record<Tier, string> = { anonymous: 'Free', premium: 'Premium', full: 'Full' };
