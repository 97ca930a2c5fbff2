// Gathers what verify checks, and keeps in the browser what the next visit needs.
import { ApiError, clearCache, get, getText } from './api';
import { consistencySizes, verify, type Evidence, type Kept, type Verification } from './verify';

/** Verifies the response that a record came with. The record must have the fields that were asked for. */
export async function verifyResponse(response: string, asked: Evidence['asked']): Promise<Verification> {
  const kept = keptLogs();
  clearCache('/log/'); // the key may have changed since
  const key = await logText('/log/vkey');
  const events = await logText('/log/keys'); // after the key, so that they lead to it
  const sizes = consistencySizes({ response, kept });
  const consistency = sizes && (await readConsistency(sizes));
  const evidence = {
    response,
    asked,
    key,
    events,
    kept,
    witnesses: witnessKeys(),
    ...(consistency && { consistency }),
  };
  const start = performance.now();
  const result = await verify(evidence);
  performance.measure('assay:verify', { start, end: performance.now() });
  if (result.keep) keep(result.keep);
  return result;
}

/** Reads a text about the log; it is empty as long as nothing is signed. */
async function logText(path: '/log/vkey' | '/log/keys'): Promise<string> {
  try {
    return await getText(path);
  } catch (cause) {
    if (ApiError.from(cause).status === 404) return '';
    throw cause;
  }
}

async function readConsistency(query: { from: number; to: number }): Promise<Evidence['consistency']> {
  try {
    return { hashes: (await get('/api/log/consistency', { query })).data.hashes };
  } catch (cause) {
    const { status, message } = ApiError.from(cause);
    if (status === 400 || status === 404) return { refused: message };
    throw cause; // it may work later
  }
}

/** Accepts a key that the reader has compared with what the operator publishes. Checkpoints stay as they are. */
export function acceptKey(key: string): void {
  const log = key.split('+')[0]!;
  keep({ log, key, checkpoint: keptLogs().find((one) => one.log === log)?.checkpoint ?? '' });
}

function keep(kept: Kept): void {
  write('assay.logs', [...keptLogs().filter((one) => one.log !== kept.log), kept]);
}

export const keptLogs = (): Kept[] => read('assay.logs');

/** The keys of the witnesses that the reader has entered. */
export const witnessKeys = (): string[] => read('assay.witnesses');
export const keepWitnessKeys = (keys: string[]): void => write('assay.witnesses', keys);

function read<T>(name: string): T[] {
  try {
    const value: unknown = JSON.parse(localStorage.getItem(name) ?? '[]');
    return Array.isArray(value) ? value : [];
  } catch {
    return [];
  }
}

function write(name: string, value: unknown[]): void {
  try {
    localStorage.setItem(name, JSON.stringify(value));
  } catch {
    // Without storage every visit is the first.
  }
}
