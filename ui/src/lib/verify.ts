// Checks what the server says about a value, without trusting the server: what the Go package verifier does, with the
// browser's own cryptography. It reads nothing and keeps nothing; verification.ts does. docs/proof.md describes every
// text to the byte, and the vectors in testdata make sure that both verifiers judge alike.

import { count } from './format';
import { encode, equal, hasCrypto, hex, join, noCrypto, sha256 } from './verify/bytes';
import { checkConsistency } from './verify/consistency';
import { listField, members, numberField, textField } from './verify/json';
import { parseCheckpoint, parseNote, sizeOf, type Checkpoint, type Note } from './verify/note';
import { checkSignature } from './verify/signature';
import { parseHash, pathLength, rootOf } from './verify/tree';
import {
  keptOf,
  stepNames,
  type Evidence,
  type Kept,
  type Outcome,
  type Step,
  type Verification,
} from './verify/types';
import { checkWitnesses } from './verify/witnesses';
import { quoted, short, shown, Unchecked, Wrong } from './verify/wrong';

export type { Evidence, Kept, State, Step, Verification, WitnessLine } from './verify/types';
export { witnessKeyProblem } from './verify/witnesses';

const noEd25519 = 'This browser cannot check Ed25519 signatures. Current versions of Chrome, Firefox and Safari can.';

const notSigned = 'Not in a signed checkpoint yet';

/** Checks the evidence, step by step. */
export async function verify(evidence: Evidence): Promise<Verification> {
  if (!hasCrypto()) {
    const steps = stepNames.map((name): Step => ({ name, state: 'open', text: '' }));
    return { verdict: 'open', text: `Not verified: ${noCrypto}`, steps };
  }
  const found: Found = {};
  const steps: Step[] = [];
  const run = async (name: Step['name'], check: () => Promise<Outcome>) => {
    steps.push({ name, state: 'passed', ...(await check().catch((cause: unknown) => outcomeOf(cause, found))) });
  };
  await run('record', () => checkRecord(evidence, found));
  await run('entry', () => checkEntry(found));
  await run('inclusion', () => checkInclusion(found));
  await run('signature', async () => checkSignature(evidence, noteOf(found), checkpointOf(found)));
  await run('witnesses', async () => checkWitnesses(evidence.witnesses, noteOf(found), checkpointOf(found)));
  const isSigned = steps.some((step) => step.name === 'signature' && step.state === 'passed');
  await run('consistency', async () => {
    const now = checkpointOf(found);
    return checkConsistency(evidence, inclusionOf(found).checkpoint, now, isSigned);
  });
  return { ...verdictOf(steps, found), steps, ...keepOf(steps, evidence, found) };
}

/** What earlier steps have found, for later ones. */
interface Found {
  response?: Map<string, string>;
  record?: RecordFields & { hash: string };
  /** Null: no checkpoint includes the record yet. */
  inclusion?: Inclusion | null;
  note?: Note;
  checkpoint?: Checkpoint;
  newKey?: string;
}

function outcomeOf(cause: unknown, found: Found): Outcome {
  if (cause instanceof Wrong) {
    const { newKey, contradiction } = cause.more;
    if (newKey) found.newKey = newKey;
    const text = cause.message;
    return { state: 'failed', text, ...(contradiction && { contradiction }) };
  }
  if (cause instanceof Unchecked) return { state: 'open', text: cause.message, optional: cause.optional };
  if (cause instanceof DOMException && cause.name === 'NotSupportedError') return { state: 'open', text: noEd25519 };
  throw cause;
}

function verdictOf(steps: Step[], found: Found): Pick<Verification, 'verdict' | 'text'> {
  const failed = steps.filter((step) => step.state === 'failed').length;
  if (failed > 0) return { verdict: 'failed', text: `Not verified: ${failed} of ${steps.length} checks failed` };
  if (found.inclusion === null) return { verdict: 'open', text: notSigned };
  if (steps.every((step) => step.state === 'passed' || step.optional))
    return { verdict: 'verified', text: 'Verified in your browser' };
  return { verdict: 'open', text: 'Not verified: not everything could be checked' };
}

/** A checkpoint is kept if it is signed, continues the one before, and is newer. */
function keepOf(steps: Step[], evidence: Evidence, found: Found): { keep?: Kept; newKey?: string } {
  if (found.newKey) return { newKey: found.newKey };
  const state = (name: Step['name']) => steps.find((step) => step.name === name)!;
  if (state('signature').state !== 'passed' || !found.checkpoint || !found.inclusion) return {};
  if (state('consistency').state !== 'passed' && !state('consistency').optional) return {};
  const kept = keptOf(evidence, found.checkpoint.origin);
  if (kept?.checkpoint && sizeOf(kept.checkpoint) >= found.checkpoint.size) return {};
  return {
    keep: {
      log: found.checkpoint.origin,
      key: kept?.key ?? evidence.key.trim(),
      checkpoint: found.inclusion.checkpoint,
      ...(evidence.events && { events: evidence.events }),
    },
  };
}

// Step 1: the record.

interface RecordFields {
  gpu_type: string;
  region: string;
  granularity: string;
  timestamp: string;
  revision: number;
}

async function checkRecord(evidence: Evidence, found: Found): Promise<Outcome> {
  found.response = members(evidence.response, 'the response');
  const text = found.response.get('data') ?? '';
  const fields = members(text, 'the record');
  const hash = textField(fields, 'hash', 'the record');
  const record = { ...recordFields(fields, 'the record'), hash };
  // The hash is the last field of the record, and is that of the text without it.
  const end = `,"hash":"${hash}"}`;
  if (!text.endsWith(end)) throw new Wrong(`Expected the hash at the end of the record, but it ends otherwise.`);
  found.record = record;
  const computed = hex(await sha256(encode(`${text.slice(0, -end.length)}}`)));
  if (computed !== hash)
    throw new Wrong(
      `Expected a record with the hash ${short(hash)}, but the text that was sent has ${short(computed)}.`,
    );
  for (const [name, wanted] of Object.entries(evidence.asked)) {
    const sent = fields.get(name);
    if (sent === undefined || JSON.stringify(JSON.parse(sent)) !== JSON.stringify(wanted))
      throw new Wrong(
        `Expected a record whose ${name} is ${shown(JSON.stringify(wanted))}, but it is ${shown(sent ?? 'missing')}.`,
      );
  }
  return { text: `The text of the record has the SHA-256 ${short(hash)}, as it says.` };
}

function recordFields(fields: Map<string, string>, what: string): RecordFields {
  return {
    gpu_type: textField(fields, 'gpu_type', what),
    region: textField(fields, 'region', what),
    granularity: textField(fields, 'granularity', what),
    timestamp: textField(fields, 'timestamp', what),
    revision: numberField(fields, 'revision', what),
  };
}

// Step 2: the entry of the log.

async function checkEntry(found: Found): Promise<Outcome> {
  const inclusion = inclusionOf(found);
  if (!found.record) throw new Unchecked('The record cannot be read, so there is nothing to compare the entry with.');
  const fields = members(inclusion.entry, 'the entry of the log');
  const type = textField(fields, 'type', 'the entry of the log');
  if (type !== 'record')
    throw new Wrong(`Expected an entry about a record, but it is about something else: ${quoted(type)}.`);
  const entry = {
    ...recordFields(fields, 'the entry of the log'),
    hash: textField(fields, 'hash', 'the entry of the log'),
  };
  for (const name of Object.keys(entry) as (keyof typeof entry)[]) {
    if (entry[name] !== found.record[name])
      throw new Wrong(
        `Expected an entry about this record, whose ${name} is ${quoted(String(found.record[name]))}, ` +
          `but the entry has ${quoted(String(entry[name]))}.`,
      );
  }
  return { text: `Entry ${count(inclusion.leaf_index)} of the log names this record and its hash.` };
}

// Step 3: the entry is in the tree.

interface Inclusion {
  leaf_index: number;
  entry: string;
  hashes: string[];
  tree_size: number;
  checkpoint: string;
}

function parseInclusion(response: Map<string, string>): Inclusion | null {
  const text = response.get('inclusion') ?? 'null';
  if (text === 'null') return null;
  const fields = members(text, 'the proof');
  return {
    leaf_index: numberField(fields, 'leaf_index', 'the proof'),
    entry: textField(fields, 'entry', 'the proof'),
    hashes: listField(fields, 'hashes', 'the proof'),
    tree_size: numberField(fields, 'tree_size', 'the proof'),
    checkpoint: textField(fields, 'checkpoint', 'the proof'),
  };
}

function inclusionOf(found: Found): Inclusion {
  if (!found.response) throw new Unchecked('The response cannot be read.');
  if (found.inclusion === undefined) found.inclusion = parseInclusion(found.response);
  if (!found.inclusion) throw new Unchecked(`${notSigned}. That takes seconds after a publication.`);
  return found.inclusion;
}

async function checkInclusion(found: Found): Promise<Outcome> {
  const inclusion = inclusionOf(found);
  const { size, root } = checkpointOf(found);
  if (inclusion.tree_size !== size)
    throw new Wrong(
      `Expected a proof for the ${count(size)} entries of the checkpoint, but it is for ${count(inclusion.tree_size)}.`,
    );
  const leaf = inclusion.leaf_index;
  if (leaf < 0 || leaf >= size)
    throw new Wrong(`Expected one of ${count(size)} entries, but the proof is for entry ${count(leaf)}.`);
  const hashes = inclusion.hashes.map(parseHash);
  const wanted = pathLength(leaf, size);
  if (hashes.length !== wanted)
    throw new Wrong(
      `Expected ${wanted} hashes for entry ${count(leaf)} of ${count(size)}, but the proof has ${hashes.length}.`,
    );
  const reached = await rootOf(hashes, 0, size, leaf, await sha256(join(new Uint8Array([0]), encode(inclusion.entry))));
  if (!equal(reached, root))
    throw new Wrong(
      `Expected the root ${short(hex(root))} of the checkpoint, but entry ${count(leaf)} and its hashes lead to ` +
        `${short(hex(reached))}.`,
    );
  return {
    text: `${wanted} hashes lead from entry ${count(leaf)} to the root of the checkpoint over ${count(size)} entries.`,
  };
}

// The other steps are about the checkpoint, which comes with the proof.

function noteOf(found: Found): Note {
  return (found.note ??= parseNote(inclusionOf(found).checkpoint));
}

function checkpointOf(found: Found): Checkpoint {
  return (found.checkpoint ??= parseCheckpoint(noteOf(found).text));
}

/** The sizes between which a consistency proof is needed; undefined if none is. */
export function consistencySizes(
  evidence: Pick<Evidence, 'response' | 'kept'>,
): { from: number; to: number } | undefined {
  try {
    const inclusion = parseInclusion(members(evidence.response, 'the response'));
    if (!inclusion) return undefined;
    const { origin, size } = parseCheckpoint(parseNote(inclusion.checkpoint).text);
    const kept = keptOf(evidence, origin)?.checkpoint;
    const sizes = kept ? [size, sizeOf(kept)].sort((a, b) => a - b) : [];
    return sizes.length > 0 && sizes[0] !== sizes[1] ? { from: sizes[0]!, to: sizes[1]! } : undefined;
  } catch (cause) {
    if (cause instanceof Wrong) return undefined; // verify says what is wrong
    throw cause;
  }
}
