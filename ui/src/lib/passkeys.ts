// Passkeys in the browser. The API's options and responses have the JSON form of WebAuthn, which the browser converts.
import type { components } from '../../generated/api';
import { ApiError } from './api';

type Options = components['schemas']['PasskeyOptions']['data'];
type Credential = components['schemas']['PasskeyCredential'];

/** Whether this page can use the passkeys of a host: browsers have them for the page's own host only. */
export function passkeysWork(host: string | null | undefined): boolean {
  return (
    host === location.hostname &&
    typeof PublicKeyCredential !== 'undefined' &&
    'parseRequestOptionsFromJSON' in PublicKeyCredential
  );
}

/** Asks the reader to create a passkey. */
export async function createPasskey(options: Options): Promise<Credential> {
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(
    options as unknown as PublicKeyCredentialCreationOptionsJSON,
  );
  return asJSON(navigator.credentials.create({ publicKey }));
}

/** Asks the reader for a passkey. */
export async function usePasskey(options: object): Promise<Credential> {
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options as PublicKeyCredentialRequestOptionsJSON);
  return asJSON(navigator.credentials.get({ publicKey }));
}

async function asJSON(asked: Promise<globalThis.Credential | null>): Promise<Credential> {
  let credential: globalThis.Credential | null;
  try {
    credential = await asked;
  } catch (cause) {
    const known = cause instanceof DOMException && cause.name === 'InvalidStateError';
    throw new ApiError(
      known ? 'This device has a passkey for your account already.' : 'No passkey was used. Try again.',
      0,
      'passkey',
    );
  }
  if (!(credential instanceof PublicKeyCredential)) throw new ApiError('No passkey was used. Try again.', 0, 'passkey');
  return credential.toJSON() as unknown as Credential;
}
