// Signed notes, as C2SP's signed-note describes them: checkpoints and the keys that sign them.
import { base64, encode, fromBase64, hex, join, sha256, type Bytes } from './bytes';
import { Wrong } from './wrong';

export interface Note {
  text: string;
  signatures: { name: string; hash: string; signature: Bytes }[];
}

export interface Checkpoint {
  origin: string;
  size: number;
  root: Bytes;
}

const maxSignatures = 100; // as Go's note package reads

export function parseNote(signed: string): Note {
  const wrong = () => new Wrong('Expected a checkpoint as a signed note, but its text has another form.');
  const split = signed.lastIndexOf('\n\n');
  // eslint-disable-next-line no-control-regex -- notes have none, as in Go
  if (split < 0 || !signed.endsWith('\n') || /[\u0000-\u0009\u000b-\u001f]/.test(signed)) throw wrong();
  const lines = signed.slice(split + 2, -1).split('\n');
  if (lines.length > maxSignatures) throw wrong();
  const signatures = lines.map((line) => {
    const [, name, encoded] = /^— ([^\s+]+) (\S+)$/u.exec(line) ?? [];
    const raw = encoded === undefined ? undefined : fromBase64(encoded);
    if (name === undefined || !raw || raw.length < 5) throw wrong();
    return { name, hash: hex(raw.slice(0, 4)), signature: raw.slice(4) };
  });
  return { text: signed.slice(0, split + 1), signatures };
}

export function parseCheckpoint(text: string): Checkpoint {
  const [origin, size, encoded, ...rest] = text.split('\n'); // extensions may follow
  const root = fromBase64(encoded ?? '');
  if (!origin || !size || !/^(0|[1-9]\d*)$/.test(size) || root?.length !== 32 || rest.length === 0)
    throw new Wrong('Expected a checkpoint with a name, a size and a root, but its text has another form.');
  if (!Number.isSafeInteger(Number(size))) throw new Wrong(`Expected a size that a log can have, but found ${size}.`);
  return { origin, size: Number(size), root };
}

export const sizeOf = (checkpoint: string): number => parseCheckpoint(checkpoint.split('\n\n')[0] + '\n').size;

// Keys, as notes have them: NAME+HASH+BASE64, where the first byte in base64 is the algorithm.

export const logAlgorithm = 1; // Ed25519
export const witnessAlgorithm = 4; // cosignature/v1

export interface Key {
  text: string;
  name: string;
  /** The first 32 bits of a hash of name and key, in hexadecimal: the short name of the key. */
  hash: string;
  public: Bytes;
}

export async function keyOf(name: string, bytes: Bytes, algorithm: number): Promise<Key> {
  const raw = join(new Uint8Array([algorithm]), bytes);
  const hash = hex((await sha256(join(encode(`${name}\n`), raw))).slice(0, 4));
  return { text: `${name}+${hash}+${base64(raw)}`, name, hash, public: bytes };
}

export async function parseKey(text: string, algorithm: number): Promise<Key | undefined> {
  const [, name, hash, encoded] = /^([^\s+]+)\+([0-9a-f]{8})\+(\S+)$/u.exec(text.trim()) ?? [];
  const raw = encoded === undefined ? undefined : fromBase64(encoded);
  if (name === undefined || raw?.length !== 33 || raw[0] !== algorithm) return undefined;
  const key = await keyOf(name, raw.slice(1), algorithm);
  return key.hash === hash ? key : undefined;
}

/** Checks an Ed25519 signature. It throws a NotSupportedError where the browser does not know the algorithm. */
export async function isSigned(key: Bytes, signature: Bytes, text: Bytes): Promise<boolean> {
  const imported = await importKey(key);
  return imported !== undefined && crypto.subtle.verify('Ed25519', imported, signature, text);
}

async function importKey(key: Bytes): Promise<CryptoKey | undefined> {
  try {
    return await crypto.subtle.importKey('raw', key, 'Ed25519', false, ['verify']);
  } catch (cause) {
    if (cause instanceof DOMException && cause.name === 'DataError') return undefined; // it is no point of the curve
    throw cause;
  }
}
