import { forget, get, send } from './api';
import { tabKey } from './tabkey.svelte';
import type { Tier } from './types';

/** What an account or an organization was given. */
export type Plan = 'none' | 'trial' | 'premium' | 'full';

/** The account that is signed in, as the API tells of it. */
export interface Account {
  id: number;
  email: string;
  name: string;
  has_password: boolean;
  tier: Tier;
  plan: Plan;
  plan_source: 'grant' | 'organization' | null;
  plan_organization: string | null;
  plan_until: string | null;
  trial: boolean;
  /** The tier of the key that it may create now; null when it may not. */
  key_tier: Tier | null;
  grants: { id: number; plan: Plan; starts_at: string; ends_at: string | null }[];
  organizations: Organization[];
}

export interface Organization {
  id: number;
  name: string;
  plan: Plan;
  plan_until: string | null;
  role: string;
  members: { email: string; name: string; role: string; since: string }[];
}

interface SessionAnswer {
  data: { account: Account | null; oidc: { name: string } | null };
}

const state = $state<{ known: boolean; account: Account | null; oidc: { name: string } | null }>({
  known: false,
  account: null,
  oidc: null,
});

/** Who reads, and what they may see. Pages look here before they ask, so that nothing is asked for in vain. */
export const session = {
  /** Whether it is known who reads; before that, nothing that depends on it should be asked. */
  get known() {
    return state.known;
  },
  get account() {
    return state.account;
  },
  get tier(): Tier {
    return state.account?.tier ?? 'anonymous';
  },
  /** The name of the identity provider that can be used to sign in, if the operator has set one up. */
  get oidc() {
    return state.oidc;
  },
  /** Whether Premium or Full access is there. */
  get keyed() {
    return this.tier !== 'anonymous';
  },
  get full() {
    return this.tier === 'full';
  },
};

/** Finds out who reads. */
export async function loadSession(): Promise<void> {
  forget();
  try {
    const answer = await get<SessionAnswer>('/api/session');
    state.account = answer.data.account;
    state.oidc = answer.data.oidc;
  } catch {
    state.account = null; // the pages say what is wrong with the server
  }
  state.known = true;
}

export async function signIn(email: string, password: string): Promise<void> {
  await send('POST', '/api/session', { email, password });
  await loadSession();
}

export async function signOut(): Promise<void> {
  await send('DELETE', '/api/session');
  tabKey.text = ''; // it belongs to who was here
  await loadSession();
}
