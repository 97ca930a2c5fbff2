// The sixth step: the log has only grown since the checkpoint that the browser has kept.
import { count } from '../format';
import { parseCheckpoint, type Checkpoint } from './note';
import { isConsistent, parseHash } from './tree';
import { keptOf, type Evidence, type Outcome } from './types';
import { Unchecked, Wrong } from './wrong';

/** Compares the checkpoint with the kept one. A checkpoint that is not signed is compared too, but not kept. */
export async function checkConsistency(
  evidence: Evidence,
  note: string,
  now: Checkpoint,
  isSigned: boolean,
): Promise<Outcome> {
  const known = keptOf(evidence, now.origin);
  const kept = known?.checkpoint;
  if (!kept) {
    if (!known && evidence.kept.length > 0)
      throw new Unchecked('This browser has kept no checkpoint of this log, only of another one.');
    if (!isSigned)
      throw new Unchecked('This browser has kept no checkpoint of this log yet, and does not keep this one.');
    throw new Unchecked(`This is the first checkpoint that this browser keeps: ${count(now.size)} entries.`, true);
  }
  const before = parseCheckpoint(kept.split('\n\n')[0] + '\n');
  // The response may be older than the checkpoint: then that must continue it.
  const [from, to] = before.size <= now.size ? [before, now] : [now, before];
  if (from.size < 1) throw new Unchecked('A checkpoint without entries cannot be compared.');
  const expected = `Expected the log of ${count(to.size)} entries to begin with the ${count(from.size)} that `;
  const seen = from === before ? 'this browser saw before' : 'it has now';
  if (from.size !== to.size && evidence.consistency && 'refused' in evidence.consistency)
    throw new Wrong(`${expected}${seen}, but the server does not prove it: ${evidence.consistency.refused}`);
  if (from.size !== to.size && !evidence.consistency) throw new Unchecked('The server has sent no proof yet.');
  const proof = evidence.consistency && 'hashes' in evidence.consistency ? evidence.consistency.hashes : [];
  if (!(await isConsistent(proof.map(parseHash), to, from)))
    throw new Wrong(
      `${expected}${seen}, but it does not: the history of the log was changed, or the proof is not one.`,
      { contradiction: [kept, note] },
    );
  if (from.size === to.size)
    return { text: `It is the checkpoint that this browser has kept: ${count(to.size)} entries.` };
  if (to === before)
    return { text: `The ${count(to.size)} entries that this browser saw before begin with these ${count(from.size)}.` };
  return { text: `The ${count(to.size)} entries begin with the ${count(from.size)} that this browser saw before.` };
}
