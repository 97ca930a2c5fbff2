// Keys and usage of the account that is signed in.
import { forget, get, send } from './api';
import type { Plan } from './session.svelte';
import type { List, Tier } from './types';

export interface Key {
  id: string;
  name: string;
  prefix: string;
  tier: Tier;
  created_at: string;
  expires_at: string | null;
  last_used_at: string | null;
  revoked_at: string | null;
  status: 'active' | 'revoked' | 'ended';
}

/** A key that was just made: the only answer that holds the key itself. */
export interface NewKey {
  key: string;
  replaces?: { id: string; expires_at: string | null };
  data: Pick<Key, 'id' | 'name' | 'prefix' | 'tier' | 'created_at'>;
}

export interface Usage extends List<UsageRow> {
  startDate: string;
  endDate: string;
}

export interface UsageRow {
  date: string;
  key_id: string;
  route: string;
  status: number;
  requests: number;
}

export const listKeys = () => get<List<Key>>('/api/keys');
export const createKey = (name: string) => changed(send<NewKey>('POST', '/api/create-api-key', { name }));
export const revokeKey = (id: string) => changed(send('DELETE', `/api/keys/${encodeURIComponent(id)}`));
export const rotateKey = (id: string, graceHours: number) =>
  changed(send<NewKey>('POST', `/api/keys/${encodeURIComponent(id)}/rotate`, { grace_hours: graceHours }));
export const changePassword = (current: string, next: string) =>
  send('PUT', '/api/account/password', { current, next });

/** Forgets the list of keys once a change of it has come through. */
async function changed<T>(change: Promise<T>): Promise<T> {
  const answer = await change;
  forget('/api/keys');
  return answer;
}

/** The usage of some days up to today (UTC). */
export function usage(days: number): Promise<Usage> {
  const start = new Date(Date.now() - (days - 1) * 86_400_000).toISOString().slice(0, 10);
  return get<Usage>('/api/usage', { startDate: start });
}

/** What the API says when an account may not create a key. The button is locked with it, so that nothing is asked in vain. */
export const keyRefusal = 'API keys need an access grant of your own, or an organization on full access.';

export const planNames: Record<Plan, string> = {
  none: 'Free',
  trial: 'Premium trial',
  premium: 'Premium',
  full: 'Full',
};
export const tierNames: Record<Tier, string> = { anonymous: 'Free', premium: 'Premium', full: 'Full' };
