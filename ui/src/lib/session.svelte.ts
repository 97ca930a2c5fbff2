import { clearCache, get, send, type ResponseBody } from './api';
import { tabKey } from './tabkey.svelte';

type SessionData = ResponseBody<'/api/session'>['data'];

/** The signed-in account. */
export type Account = NonNullable<SessionData['account']>;
export type Tier = Account['tier'];
export type Plan = Account['plan'];
export type Organization = Account['organizations'][number];

const state = $state<{ known: boolean } & SessionData>({ known: false, account: null, oidc: null });

/** Who the reader is and what they may see. Pages check here first, so that they send no request that will be refused. */
export const session = {
  /** Whether the session has been read. Requests that depend on it wait until then. */
  get known() {
    return state.known;
  },
  get account() {
    return state.account;
  },
  get tier(): Tier {
    return state.account?.tier ?? 'anonymous';
  },
  /** The identity provider that can be used to sign in, if the operator has set one up. */
  get oidc() {
    return state.oidc;
  },
  /** Whether the reader has Premium or Full access. */
  get keyed() {
    return this.tier !== 'anonymous';
  },
  get full() {
    return this.tier === 'full';
  },
};

/** Reads the session and clears what was read under the one before. */
export async function loadSession(): Promise<void> {
  clearCache();
  try {
    const { data } = await get('/api/session');
    state.account = data.account;
    state.oidc = data.oidc;
  } catch {
    state.account = null; // the pages show what is wrong with the server
  }
  state.known = true;
}

export async function signIn(email: string, password: string): Promise<void> {
  await send('post', '/api/session', { email, password });
  await loadSession();
}

export async function signOut(): Promise<void> {
  await send('delete', '/api/session', undefined);
  tabKey.text = ''; // the key belonged to the account that signed out
  await loadSession();
}
