import type { components } from '../../generated/api';
import { ApiError, clearCache, get, send, type ResponseBody } from './api';
import { forget } from './kept';
import { usePasskey } from './passkeys';
import { tabKey } from './tabkey.svelte';

type SessionData = ResponseBody<'/api/session'>['data'];

/** The signed-in account. */
export type Account = NonNullable<SessionData['account']>;
export type Tier = Account['tier'];
export type Plan = Account['plan'];
export type SecondStep = NonNullable<SessionData['second_factor']>;
export type Organization = Account['organizations'][number];

interface State extends Omit<SessionData, 'must_change_password'> {
  known: boolean;
  failure: ApiError | null;
  temporary: Account | null;
}

const state = $state<State>({
  known: false,
  failure: null,
  account: null,
  temporary: null,
  oidc: null,
  link: null,
  second_factor: null,
  must_add_second_factor: false,
  passkey_host: null,
});

/** Who the reader is and what they may see. Pages check here first, so that they send no request that will be refused. */
export const session = {
  /** Whether the session has been read. Requests that depend on it wait until then. */
  get known() {
    return state.known;
  },
  /** Why the session could not be read the last time; null if it could. Until it can, the reader stays who they were. */
  get failure() {
    return state.failure;
  },
  get account() {
    return state.account;
  },
  /** The account that has to change its password before it counts as signed in. */
  get temporary() {
    return state.temporary;
  },
  get tier(): Tier {
    return state.account?.tier ?? 'anonymous';
  },
  /** The identity provider that can be used to sign in, if the operator has set one up. */
  get oidc() {
    return state.oidc;
  },
  /** The account that waits for its password, to be linked with the identity that the provider has sent. */
  get link() {
    return state.link;
  },
  /** What a sign-in still needs after the password, if one has begun. */
  get secondStep() {
    return state.second_factor;
  },
  /** Whether the account has to add a second factor before it can do anything else. */
  get mustAddFactor() {
    return state.must_add_second_factor;
  },
  /** The host that passkeys belong to, if the server has them. */
  get passkeyHost() {
    return state.passkey_host;
  },
  /** Whether the reader has Premium or Full access. */
  get keyed() {
    return this.tier !== 'anonymous';
  },
  get full() {
    return this.tier === 'full';
  },
};

// A session that cannot be read is read again, after longer and longer pauses.
const firstPause = 2000;
const longestPause = 30_000;
let failures = 0;
let retry: ReturnType<typeof setTimeout> | undefined;

/**
 * Reads the session and clears what was read under the one before. If that fails, nothing changes: who the reader is stays
 * unknown, or as it was. It is tried again until it succeeds.
 */
export async function loadSession(): Promise<void> {
  clearTimeout(retry);
  clearCache();
  try {
    const { data } = await get('/api/session');
    state.account = data.must_change_password ? null : data.account;
    state.temporary = data.must_change_password ? data.account : null;
    state.oidc = data.oidc;
    state.link = data.link;
    state.second_factor = data.second_factor;
    state.must_add_second_factor = data.must_add_second_factor;
    state.passkey_host = data.passkey_host;
    state.known = true;
    state.failure = null;
    failures = 0;
  } catch (cause) {
    state.failure = ApiError.from(cause);
    retry = setTimeout(() => void loadSession(), Math.min(firstPause * 2 ** failures++, longestPause));
  }
}

/** Signs in with a password. If the account has a second factor, session.secondStep says what is missing then. */
export async function signIn(email: string, password: string): Promise<void> {
  await send('post', '/api/session', { email, password });
  await loadSession();
}

/** Links the account of session.link with the provider's identity, and signs in. */
export async function linkAccount(password: string): Promise<void> {
  await send('post', '/api/session/oidc/link', { password });
  await loadSession();
}

type SecondFactor = components['schemas']['SecondFactor'];

/** Takes the second step of a sign-in. */
export async function finishSignIn(given: SecondFactor): Promise<void> {
  await send('post', '/api/session/second-factor', given);
  await loadSession();
}

/** Signs in with a passkey alone. */
export async function signInWithPasskey(): Promise<void> {
  const options = (await send('post', '/api/session/passkey/options', undefined)).data;
  await send('post', '/api/session/passkey', { passkey: await usePasskey(options) });
  await loadSession();
}

/** Returns to the first step of a sign-in. */
export function forgetSignIn(): void {
  state.second_factor = null;
  state.link = null;
}

export async function signOut(): Promise<void> {
  await send('delete', '/api/session', undefined);
  tabKey.text = ''; // the key belonged to the account that signed out
  forget();
  state.account = state.temporary = null;
  await loadSession();
}
