// The fifth step: witnesses, who sign in the form of C2SP's tlog-cosignature, as verifier/witness.go reads it.
import { encode, hasCrypto, noCrypto, type Bytes } from './bytes';
import { isSigned, parseKey, witnessAlgorithm, type Checkpoint, type Key, type Note } from './note';
import type { Outcome, State, WitnessLine } from './types';
import { quoted } from './wrong';

export async function checkWitnesses(texts: string[], note: Note, { origin }: Checkpoint): Promise<Outcome> {
  const parsed = await Promise.all(texts.map((text) => parseKey(text, witnessAlgorithm)));
  const known = parsed.filter((key) => key !== undefined);
  const lines: WitnessLine[] = [];
  const signatures = note.signatures.filter((one) => one.name !== origin);
  for (const [i, line] of signatures.entries()) {
    const same = (one: Note['signatures'][number]) => one.name === line.name && one.hash === line.hash;
    if (signatures.findIndex(same) < i) continue; // the first one of each counts, as in Go
    const key = known.find((one) => one.name === line.name && one.hash === line.hash);
    lines.push({ name: line.name, ...(await checkCosignature(note.text, line.signature, key)) });
  }
  const missing = known.filter(
    (key) => !note.signatures.some((line) => line.name === key.name && line.hash === key.hash),
  );
  for (const { name } of missing) lines.push({ name, state: 'open', text: 'has not signed this checkpoint' });
  const inState = (state: State) => lines.filter((line) => line.state === state).length;
  const [passed, failed] = [inState('passed'), inState('failed')];
  if (failed > 0)
    return {
      state: 'failed',
      text: `Expected valid signatures of the witnesses that you know, but ${failed} of ${passed + failed} are not valid.`,
      witnesses: lines,
    };
  if (passed > 0)
    return { text: `${passed} of the ${known.length} witnesses that you know have signed.`, witnesses: lines };
  if (known.length > 0)
    return { state: 'open', text: 'No witness that you know has signed this checkpoint.', witnesses: lines };
  const text =
    lines.length > 0 ? 'You have not entered the key of any witness.' : 'No witness has signed this checkpoint.';
  return { state: 'open', text, optional: true, witnesses: lines };
}

async function checkCosignature(
  text: string,
  signature: Bytes,
  key: Key | undefined,
): Promise<Omit<WitnessLine, 'name'>> {
  if (!key) return { state: 'open', text: 'not checked: you have not entered the key of this witness' };
  const invalid = { state: 'failed', text: 'the signature is not valid for the key that you have entered' } as const;
  if (signature.length !== 8 + 64) return invalid;
  const seconds = new DataView(signature.buffer, signature.byteOffset).getBigUint64(0);
  const signed = encode(`cosignature/v1\ntime ${seconds}\n${text}`);
  if (!(await isSigned(key.public, signature.slice(8), signed))) return invalid;
  const at = new Date(Number(seconds) * 1000);
  return { state: 'passed', text: Number.isNaN(at.getTime()) ? 'signed' : `signed ${at.toISOString()}` };
}

/** What is wrong with a text that should be the key of a witness; undefined if it is one. */
export async function witnessKeyProblem(text: string): Promise<string | undefined> {
  if (!hasCrypto()) return `The key cannot be checked: ${noCrypto}`;
  if (await parseKey(text, witnessAlgorithm)) return undefined;
  return `${quoted(text)} is not the key of a witness: expected NAME+HASH+KEY, as 'assay witness' prints it.`;
}
