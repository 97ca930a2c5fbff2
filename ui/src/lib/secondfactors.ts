// The second factors of the signed-in account.
import { clearCache, get, send, type ResponseBody } from './api';
import { createPasskey } from './passkeys';

export type SecondFactors = ResponseBody<'/api/account/second-factors'>['data'];
export type Passkey = SecondFactors['passkeys'][number];

/** The secret of an authenticator app that is being added: the only response that holds it. */
export type NewApp = ResponseBody<'/api/account/second-factors/totp', 'post'>['data'];

export const showSecondFactors = async () => (await get('/api/account/second-factors')).data;
export const givePassword = (password: string) => changed(send('post', '/api/account/proof', { password }));

export const beginTOTP = async () => (await send('post', '/api/account/second-factors/totp', undefined)).data;
export const finishTOTP = async (code: string) =>
  (await changed(send('put', '/api/account/second-factors/totp', { code }))).data.recovery_codes;
export const removeTOTP = () => changed(send('delete', '/api/account/second-factors/totp', undefined));

/** Creates a passkey and adds it. With the first factor come recovery codes. */
export async function addPasskey(name: string): Promise<string[] | null> {
  const options = (await send('post', '/api/account/second-factors/passkeys/options', undefined)).data;
  const passkey = await createPasskey(options);
  return (await changed(send('post', '/api/account/second-factors/passkeys', { name, passkey }))).data.recovery_codes;
}

export const removePasskey = (id: string) =>
  changed(send('delete', '/api/account/second-factors/passkeys/{id}', undefined, { path: { id } }));
export const newRecoveryCodes = async () =>
  (await changed(send('post', '/api/account/second-factors/recovery-codes', undefined))).data.recovery_codes;

/** Clears the cached factors, and the sessions that a change has ended. */
async function changed<T>(change: Promise<T>): Promise<T> {
  const result = await change;
  clearCache('/api/account/');
  return result;
}
