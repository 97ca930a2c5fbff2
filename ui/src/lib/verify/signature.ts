// The fourth step: the log's operator has signed the checkpoint.
import { count } from '../format';
import { base64, encode, fromBase64 } from './bytes';
import { reachedKeys, readKeyEvents, type KeyEvents } from './keyevents';
import { isSigned, keyOf, logAlgorithm, parseKey, type Checkpoint, type Key, type Note } from './note';
import { keptOf, type Evidence, type Outcome } from './types';
import { quoted, Wrong } from './wrong';

export async function checkSignature(evidence: Evidence, note: Note, { origin, size }: Checkpoint): Promise<Outcome> {
  const { keys, first, events } = await acceptedKeys(evidence);
  const log = keys[0]!.name;
  if (origin !== log)
    throw new Wrong(`Expected a checkpoint of the log ${quoted(log)}, but it is of ${quoted(origin)}.`);
  let signer: Key | undefined;
  let revoked: Key | undefined;
  for (const key of keys) {
    const line = note.signatures.find((one) => one.name === key.name && one.hash === key.hash);
    if (!line) continue;
    if (events.revoked.has(base64(key.public))) {
      revoked = key;
      continue;
    }
    if (!(await isSigned(key.public, line.signature, encode(note.text))))
      throw new Wrong(`Expected a signature with the key ${key.hash}, but the one in the checkpoint is not valid.`);
    signer = key;
  }
  if (!signer && revoked)
    throw new Wrong(
      `Expected a key that is in use, but the checkpoint is signed with the key ${revoked.hash}, ` +
        'which the operator has revoked because it is in wrong hands.',
    );
  if (!signer) {
    const others = note.signatures.filter((line) => line.name === log).map((line) => line.hash);
    throw new Wrong(
      `Expected a signature with the key ${keys.map((key) => key.hash).join(' or ')} of the log, ` +
        `but the checkpoint is signed with ${others.join(', ') || 'no key of the log'}.`,
    );
  }
  const known = first
    ? 'This browser keeps the key from now on; compare it with what the operator publishes elsewhere.'
    : signer.text === keptOf(evidence, log)!.key
      ? 'It is the key that this browser has kept.'
      : 'The key that this browser has kept has signed the change to it.';
  return {
    text: `The checkpoint over ${count(size)} entries is signed with the key ${signer.hash} of ${log}. ${known}`,
  };
}

/** The keys of the log that lead from the one that the browser has kept, also those that were revoked. */
async function acceptedKeys(evidence: Evidence): Promise<{ keys: Key[]; first: boolean; events: KeyEvents }> {
  const served = await parseKey(evidence.key, logAlgorithm);
  if (!served) throw new Wrong(`Expected the key of the log, but the server sent ${quoted(evidence.key)}.`);
  const refuse = (text: string) => new Wrong(text, { newKey: served.text });
  const kept = keptOf(evidence, served.name);
  if (!kept && evidence.kept.length > 0)
    throw refuse(
      `Expected the log ${evidence.kept.map((one) => one.log).join(' or ')}, which this browser knows of this server, ` +
        `but found the log ${served.name} with the key ${served.hash}: no signature leads from one to the other.`,
    );
  const start = kept ? await parseKey(kept.key, logAlgorithm) : served;
  if (!start) throw refuse('Expected the key that this browser has kept, but what it has kept is damaged.');
  if (kept?.events && !evidence.events.startsWith(kept.events))
    throw refuse(
      'Expected the changes of the key that this browser has seen, but the server no longer shows all of them.',
    );
  const events = await readKeyEvents(served.name, evidence.events);
  const reached = reachedKeys(events, base64(start.public));
  for (const key of [events.current, base64(served.public)]) {
    if (key !== undefined && !reached.includes(key)) {
      const { hash } = await keyOf(served.name, fromBase64(key)!, logAlgorithm);
      throw refuse(
        `Expected the key ${start.hash} that this browser has kept, or one that it has signed for, ` +
          `but the log is signed with the key ${hash}: compare it with what the operator publishes elsewhere.`,
      );
    }
  }
  const keys = await Promise.all(reached.map((key) => keyOf(served.name, fromBase64(key)!, logAlgorithm)));
  return { keys, first: !kept, events };
}
