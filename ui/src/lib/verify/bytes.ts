// Bytes, their texts, and the browser's hash function.

export type Bytes = Uint8Array<ArrayBuffer>;

const encoder = new TextEncoder();
export const encode = (text: string): Bytes => encoder.encode(text);

/** Whether the page may use the browser's cryptography: plain http from another host may not. */
export const hasCrypto = (): boolean => globalThis.crypto?.subtle !== undefined;
export const noCrypto =
  'this page was not loaded over https or from localhost, so the browser offers it no cryptography.';

export const sha256 = async (bytes: Bytes): Promise<Bytes> =>
  new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));

export function join(...parts: Bytes[]): Bytes {
  const joined = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}

export const equal = (a: Bytes, b: Bytes): boolean => a.length === b.length && a.every((byte, i) => byte === b[i]);
export const hex = (bytes: Bytes): string => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
export const base64 = (bytes: Bytes): string => btoa(String.fromCharCode(...bytes));

/** Standard base64 with padding; undefined if the text is anything else. atob alone would also accept spaces. */
export function fromBase64(text: string): Bytes | undefined {
  if (!/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(text)) return undefined;
  return Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
}
