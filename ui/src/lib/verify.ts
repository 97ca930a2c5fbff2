// Checks what the server says about a value, without trusting the server: what the Go package verifier does, with the
// browser's own cryptography. It reads nothing and keeps nothing; verification.ts does. docs/proof.md describes every
// text to the byte, and the vectors in testdata make sure that both verifiers judge alike.

import { count } from './format';

type Bytes = Uint8Array<ArrayBuffer>;

/** Passed, failed, or not checked. */
export type State = 'passed' | 'failed' | 'open';

const stepNames = ['record', 'entry', 'inclusion', 'signature', 'witnesses', 'consistency'] as const;

export interface Step {
  name: (typeof stepNames)[number];
  state: State;
  /** What was found, as a sentence; of a step that failed, also what was expected. */
  text: string;
  /** Whether the value counts as verified although this was not checked. */
  optional?: boolean;
  /** The signatures of witnesses, one each. */
  witnesses?: WitnessLine[];
  /** The two checkpoints that do not fit together. If both are signed, they are evidence for anyone. */
  contradiction?: string[];
}

export interface WitnessLine {
  name: string;
  state: State;
  text: string;
}

/** What a browser keeps of a log. */
export interface Kept {
  log: string;
  /** The first key that it saw, or that the reader has accepted later. */
  key: string;
  /** The newest checkpoint that it verified, with its signatures; empty if there is none yet. */
  checkpoint: string;
}

/** What the server sent about a value, and what the reader knows. */
export interface Evidence {
  /** The response with the record, to the byte. */
  response: string;
  /** Fields that the record must have: it could be a true one of another value. */
  asked: Record<string, unknown>;
  /** The key of the log, of /log/vkey. */
  key: string;
  /** How it has changed, of /log/keys. */
  events: string;
  /** What the browser has kept of this log and of others that the server had. */
  kept: Kept[];
  /** The keys of the witnesses that the reader knows. */
  witnesses: string[];
  /** The hashes between the two checkpoints that consistencySizes names, or why the server refuses to send them. */
  consistency?: { hashes: string[] } | { refused: string };
}

export interface Verification {
  verdict: 'verified' | 'failed' | 'open';
  /** The verdict in a few words. */
  text: string;
  steps: Step[];
  /** What the browser should keep of the log from now on. */
  keep?: Kept;
  /** The key that the reader may accept after comparing it with what the operator publishes elsewhere. */
  newKey?: string;
}

/** What is wrong with the evidence, as a sentence. */
class Wrong extends Error {
  newKey?: string;
  contradiction?: string[];
}

/** Why something cannot be checked, as a sentence. */
class Unchecked extends Error {
  optional = false;
}

const unsupported = {
  page: 'This page was not loaded over https or from localhost, so the browser offers it no cryptography.',
  ed25519: 'This browser cannot check Ed25519 signatures. Current versions of Chrome, Firefox and Safari can.',
};

const notSigned = 'Not in a signed checkpoint yet';

/** Checks the evidence, step by step. */
export async function verify(evidence: Evidence): Promise<Verification> {
  if (!globalThis.crypto?.subtle) {
    const steps = stepNames.map((name): Step => ({ name, state: 'open', text: unsupported.page }));
    return { verdict: 'open', text: 'Not verified: this page has no access to cryptography', steps };
  }
  const found: Found = {};
  const steps: Step[] = [];
  const run = async (name: Step['name'], check: () => Promise<Partial<Step> & { text: string }>) => {
    steps.push({ name, state: 'passed', ...(await check().catch((cause: unknown) => outcomeOf(cause, found))) });
  };
  await run('record', () => checkRecord(evidence, found));
  await run('entry', () => checkEntry(found));
  await run('inclusion', () => checkInclusion(found));
  await run('signature', () => checkSignature(evidence, found));
  await run('witnesses', () => checkWitnesses(evidence, found));
  await run('consistency', () => checkConsistency(evidence, found));
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

function outcomeOf(cause: unknown, found: Found): Omit<Step, 'name'> {
  if (cause instanceof Wrong) {
    if (cause.newKey) found.newKey = cause.newKey;
    const { message: text, contradiction } = cause;
    return { state: 'failed', text, ...(contradiction && { contradiction }) };
  }
  if (cause instanceof Unchecked) return { state: 'open', text: cause.message, optional: cause.optional };
  if (cause instanceof DOMException && cause.name === 'NotSupportedError')
    return { state: 'open', text: unsupported.ed25519 };
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
    },
  };
}

const keptOf = (evidence: Evidence, log: string) => evidence.kept.find((kept) => kept.log === log);

// Step 1: the record.

interface RecordFields {
  gpu_type: string;
  region: string;
  granularity: string;
  timestamp: string;
  revision: number;
}

async function checkRecord(evidence: Evidence, found: Found) {
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

async function checkEntry(found: Found) {
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

async function checkInclusion(found: Found) {
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

// Steps 4 and 5 are about the signatures of the checkpoint: a note as C2SP's signed-note describes it.

interface Note {
  text: string;
  signatures: { name: string; hash: string; signature: Bytes }[];
}

interface Checkpoint {
  origin: string;
  size: number;
  root: Bytes;
}

const maxSignatures = 100; // as Go's note package reads

function parseNote(signed: string): Note {
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

function parseCheckpoint(text: string): Checkpoint {
  const [origin, size, encoded, ...rest] = text.split('\n'); // extensions may follow
  const root = fromBase64(encoded ?? '');
  if (!origin || !size || !/^(0|[1-9]\d*)$/.test(size) || root?.length !== 32 || rest.length === 0)
    throw new Wrong('Expected a checkpoint with a name, a size and a root, but its text has another form.');
  if (!Number.isSafeInteger(Number(size))) throw new Wrong(`Expected a size that a log can have, but found ${size}.`);
  return { origin, size: Number(size), root };
}

const sizeOf = (checkpoint: string): number => parseCheckpoint(checkpoint.split('\n\n')[0] + '\n').size;

function noteOf(found: Found): Note {
  return (found.note ??= parseNote(inclusionOf(found).checkpoint));
}

function checkpointOf(found: Found): Checkpoint {
  return (found.checkpoint ??= parseCheckpoint(noteOf(found).text));
}

async function checkSignature(evidence: Evidence, found: Found) {
  const note = noteOf(found);
  const { origin, size } = checkpointOf(found);
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
  const refuse = (text: string) => Object.assign(new Wrong(text), { newKey: served.text });
  const kept = keptOf(evidence, served.name);
  if (!kept && evidence.kept.length > 0)
    throw refuse(
      `Expected the log ${evidence.kept.map((one) => one.log).join(' or ')}, which this browser knows of this server, ` +
        `but found the log ${served.name} with the key ${served.hash}: no signature leads from one to the other.`,
    );
  const start = kept ? await parseKey(kept.key, logAlgorithm) : served;
  if (!start) throw refuse('Expected the key that this browser has kept, but what it has kept is damaged.');
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

// The key events of a log: see verifier/keys.go.

interface KeyEvent {
  action: string;
  key: string; // in base64
}

interface KeyEvents {
  list: KeyEvent[];
  current: string | undefined;
  revoked: Set<string>;
}

async function readKeyEvents(log: string, text: string): Promise<KeyEvents> {
  const events: KeyEvents = { list: [], current: undefined, revoked: new Set() };
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  for (const line of lines) await addKeyEvent(events, log, line);
  return events;
}

async function addKeyEvent(events: KeyEvents, log: string, line: string): Promise<void> {
  const number = events.list.length + 1;
  const what = `key event ${number}`;
  const fields = members(line, what);
  const signatures = fields.has('signatures') ? listField(fields, 'signatures', what) : [];
  const event = { action: textField(fields, 'action', what), key: textField(fields, 'public_key', what) };
  // Only one text is possible for an event, so that what is signed is what is read.
  const statement = canonical({
    type: 'key',
    number,
    action: event.action,
    public_key: event.key,
    at: textField(fields, 'at', what),
    reason: textField(fields, 'reason', what),
  });
  const end = signatures.length > 0 ? `,"signatures":${canonical(signatures)}}` : '}';
  if (line !== statement.slice(0, -1) + end || fromBase64(event.key)?.length !== 32)
    throw new Wrong(`Expected ${what} of the log as key events are written, but found ${quoted(line)}.`);
  const signers = signersOf(events, event, what);
  if (signatures.length !== signers.length)
    throw new Wrong(`Expected ${signers.length} signatures of ${what}, but it has ${signatures.length}.`);
  const signed = encode(`assay key event/v1\n${log}\n${statement}`);
  for (const [i, signer] of signers.entries()) {
    if (!(await isSigned(fromBase64(signer)!, fromBase64(signatures[i]!) ?? new Uint8Array(), signed)))
      throw new Wrong(
        `Expected ${what} (${event.action}) to be signed with the key ${quoted(signer)}, but its signature is not valid.`,
      );
  }
  if (event.action === 'revoke') events.revoked.add(event.key);
  else events.current = event.key;
  events.list.push(event);
}

/** The keys that must have signed an event, in their order. */
function signersOf(events: KeyEvents, { action, key }: KeyEvent, what: string): string[] {
  const wrong = (text: string) => new Wrong(`Expected ${what} to be a change of the key, but ${text}.`);
  const { current } = events;
  if ((action === 'begin') !== (current === undefined)) throw wrong('the first event, and no other, must be begin');
  if (events.revoked.has(key)) throw wrong('its key was revoked before');
  if (key === current) throw wrong('it names the current key');
  if (action === 'begin' || action === 'accept') return [key];
  if (action === 'rotate') return [current!, key];
  if (action === 'revoke' && events.list.some((event) => event.key === key)) return [current!];
  throw wrong(`its action is ${quoted(action)}`);
}

/** The keys that a reader accepts who accepts one: also those that took its place with its signature. */
function reachedKeys(events: KeyEvents, accepted: string): string[] {
  const reached = [accepted];
  let current: string | undefined;
  for (const { action, key } of events.list) {
    if (action === 'rotate' && reached.includes(current!) && !reached.includes(key)) reached.push(key);
    if (action !== 'revoke') current = key;
  }
  return reached;
}

/** A value as Go's encoding/json writes it. */
const canonical = (value: unknown): string =>
  JSON.stringify(value).replaceAll(
    /[<>&\u2028\u2029]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

// Step 5: witnesses, who sign in the form of C2SP's tlog-cosignature. See verifier/witness.go.

async function checkWitnesses(evidence: Evidence, found: Found): Promise<Partial<Step> & { text: string }> {
  const note = noteOf(found);
  const { origin } = checkpointOf(found);
  const parsed = await Promise.all(evidence.witnesses.map((text) => parseKey(text, witnessAlgorithm)));
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
  if (await parseKey(text, witnessAlgorithm)) return undefined;
  return `${quoted(text)} is not the key of a witness: expected NAME+HASH+KEY, as 'assay witness' prints it.`;
}

// Step 6: the log has only grown since the checkpoint that the browser has kept.

/** The sizes between which a consistency proof is needed; undefined if none is. */
export function consistencySizes(
  evidence: Pick<Evidence, 'response' | 'kept'>,
): { from: number; to: number } | undefined {
  try {
    const inclusion = parseInclusion(members(evidence.response, 'the response'));
    if (!inclusion) return undefined;
    const { origin, size } = parseCheckpoint(parseNote(inclusion.checkpoint).text);
    const kept = evidence.kept.find((one) => one.log === origin)?.checkpoint;
    const sizes = kept ? [size, sizeOf(kept)].sort((a, b) => a - b) : [];
    return sizes.length > 0 && sizes[0] !== sizes[1] ? { from: sizes[0]!, to: sizes[1]! } : undefined;
  } catch (cause) {
    if (cause instanceof Wrong) return undefined; // verify says what is wrong
    throw cause;
  }
}

async function checkConsistency(evidence: Evidence, found: Found) {
  const now = checkpointOf(found);
  const known = keptOf(evidence, now.origin);
  const kept = known?.checkpoint;
  if (!kept) {
    if (!known && evidence.kept.length > 0)
      throw new Unchecked('This browser has kept no checkpoint of this log, only of another one.');
    throw Object.assign(
      new Unchecked(`This is the first checkpoint that this browser keeps: ${count(now.size)} entries.`),
      {
        optional: true,
      },
    );
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
    throw Object.assign(
      new Wrong(`${expected}${seen}, but it does not: the history of the log was changed, or the proof is not one.`),
      { contradiction: [kept, inclusionOf(found).checkpoint] },
    );
  if (from.size === to.size)
    return { text: `It is the checkpoint that this browser has kept: ${count(to.size)} entries.` };
  if (to === before)
    return { text: `The ${count(to.size)} entries that this browser saw before begin with these ${count(from.size)}.` };
  return { text: `The ${count(to.size)} entries begin with the ${count(from.size)} that this browser saw before.` };
}

// Trees as in RFC 6962. The algorithms are those of golang.org/x/mod/sumdb/tlog.

/** The largest power of two below n. */
function split(n: number): number {
  let k = 1;
  while (k * 2 < n) k *= 2;
  return k;
}

const nodeHash = (left: Bytes, right: Bytes): Promise<Bytes> => sha256(join(new Uint8Array([1]), left, right));

/** How many hashes lead from a leaf to the root. */
function pathLength(leaf: number, size: number): number {
  let length = 0;
  for (let [lo, hi] = [0, size]; hi - lo > 1; length++) {
    const middle = lo + split(hi - lo);
    if (leaf < middle) hi = middle;
    else lo = middle;
  }
  return length;
}

/** The root of the tree over [lo, hi) that the hashes lead to from a leaf. There are as many as pathLength says. */
async function rootOf(hashes: Bytes[], lo: number, hi: number, leaf: number, leafHash: Bytes): Promise<Bytes> {
  if (hi - lo === 1) return leafHash;
  const middle = lo + split(hi - lo);
  const [below, sibling] = [hashes.slice(0, -1), hashes.at(-1)!];
  return leaf < middle
    ? nodeHash(await rootOf(below, lo, middle, leaf, leafHash), sibling)
    : nodeHash(sibling, await rootOf(below, middle, hi, leaf, leafHash));
}

async function isConsistent(hashes: Bytes[], to: Checkpoint, from: Checkpoint): Promise<boolean> {
  const roots = await rootsOf(hashes, 0, to.size, from.size, from.root);
  return roots !== undefined && equal(roots.old, from.root) && equal(roots.now, to.root);
}

/** The roots over [lo, hi) of the old tree, which ends at size, and of the new one; undefined if the hashes do not fit. */
async function rootsOf(
  hashes: Bytes[],
  lo: number,
  hi: number,
  size: number,
  oldRoot: Bytes,
): Promise<{ old: Bytes; now: Bytes } | undefined> {
  if (size === hi) {
    if (lo === 0) return hashes.length === 0 ? { old: oldRoot, now: oldRoot } : undefined;
    return hashes.length === 1 ? { old: hashes[0]!, now: hashes[0]! } : undefined;
  }
  const sibling = hashes.at(-1);
  if (!sibling) return undefined;
  const middle = lo + split(hi - lo);
  const below = hashes.slice(0, -1);
  if (size <= middle) {
    const roots = await rootsOf(below, lo, middle, size, oldRoot);
    return roots && { old: roots.old, now: await nodeHash(roots.now, sibling) };
  }
  const roots = await rootsOf(below, middle, hi, size, oldRoot);
  return roots && { old: await nodeHash(sibling, roots.old), now: await nodeHash(sibling, roots.now) };
}

// Keys, as notes have them: NAME+HASH+BASE64, where the first byte in base64 is the algorithm.

const logAlgorithm = 1; // Ed25519
const witnessAlgorithm = 4; // cosignature/v1

interface Key {
  text: string;
  name: string;
  /** The first 32 bits of a hash of name and key, in hexadecimal: the short name of the key. */
  hash: string;
  public: Bytes;
}

async function keyOf(name: string, bytes: Bytes, algorithm: number): Promise<Key> {
  const raw = join(new Uint8Array([algorithm]), bytes);
  const hash = hex((await sha256(join(encode(`${name}\n`), raw))).slice(0, 4));
  return { text: `${name}+${hash}+${base64(raw)}`, name, hash, public: bytes };
}

async function parseKey(text: string, algorithm: number): Promise<Key | undefined> {
  const [, name, hash, encoded] = /^([^\s+]+)\+([0-9a-f]{8})\+(\S+)$/u.exec(text.trim()) ?? [];
  const raw = encoded === undefined ? undefined : fromBase64(encoded);
  if (name === undefined || raw?.length !== 33 || raw[0] !== algorithm) return undefined;
  const key = await keyOf(name, raw.slice(1), algorithm);
  return key.hash === hash ? key : undefined;
}

/** Checks an Ed25519 signature. It throws a NotSupportedError where the browser does not know the algorithm. */
async function isSigned(key: Bytes, signature: Bytes, text: Bytes): Promise<boolean> {
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

// Texts and bytes.

/**
 * The members of a JSON object, each as the text that was sent. Other programs must read the same: a name that occurs
 * twice, or differs from another only in case, could show one value to some readers and prove another.
 */
function members(text: string, what: string): Map<string, string> {
  const wrong = (found: string) => new Wrong(`Expected ${what} as a JSON object, but ${found}.`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw wrong(`found ${quoted(text)}`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw wrong(`found ${quoted(text)}`);
  const found = new Map<string, string>();
  let [depth, start, name] = [0, 0, ''];
  // The text is valid, so that strings and punctuation alone tell where each member begins and ends.
  for (const { 0: token, index } of text.matchAll(/"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]/g)) {
    if (depth === 1 && token === ':') {
      name = JSON.parse(text.slice(start, index));
      if (found.has(name) || !/^[a-z0-9_]*$/.test(name))
        throw wrong(`its name ${quoted(name)} is there twice, or is not in lower case`);
      found.set(name, '');
      start = index + 1;
    } else if (depth === 1 && (token === ',' || token === '}')) {
      if (found.size > 0) found.set(name, text.slice(start, index).trim());
      start = index + 1;
    } else if (depth === 0) start = index + 1;
    if (token === '{' || token === '[') depth++;
    if (token === '}' || token === ']') depth--;
  }
  return found;
}

function field(fields: Map<string, string>, name: string): unknown {
  const text = fields.get(name);
  return text === undefined ? undefined : JSON.parse(text);
}

const misses = (name: string, what: string) =>
  new Wrong(`Expected ${what} with a field ${name}, but it has none like it.`);

function textField(fields: Map<string, string>, name: string, what: string): string {
  const value = field(fields, name);
  if (typeof value !== 'string') throw misses(name, what);
  return value;
}

function numberField(fields: Map<string, string>, name: string, what: string): number {
  const value = field(fields, name);
  if (!Number.isSafeInteger(value)) throw misses(name, what);
  return value as number;
}

function listField(fields: Map<string, string>, name: string, what: string): string[] {
  const value = field(fields, name);
  if (!Array.isArray(value) || !value.every((one) => typeof one === 'string')) throw misses(name, what);
  return value;
}

function parseHash(text: string): Bytes {
  if (!/^[0-9a-f]{64}$/.test(text)) throw new Wrong(`Expected a hash in the proof, but found ${quoted(text)}.`);
  return Uint8Array.from(text.match(/../g)!, (digits) => parseInt(digits, 16));
}

const encoder = new TextEncoder();
const encode = (text: string): Bytes => encoder.encode(text);

const sha256 = async (bytes: Bytes): Promise<Bytes> => new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));

function join(...parts: Bytes[]): Bytes {
  const joined = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}

const equal = (a: Bytes, b: Bytes): boolean => a.length === b.length && a.every((byte, i) => byte === b[i]);
const hex = (bytes: Bytes): string => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
const base64 = (bytes: Bytes): string => btoa(String.fromCharCode(...bytes));

/** Standard base64 with padding; undefined if the text is anything else. atob alone would also accept spaces. */
function fromBase64(text: string): Bytes | undefined {
  if (!/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(text)) return undefined;
  return Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
}

/** The ends of a hash, as the page shows hashes. */
const short = (hash: string): string => (hash.length > 24 ? `${hash.slice(0, 12)}…${hash.slice(-8)}` : hash);

/** A text of the server that is not too long for a sentence. */
const shown = (text: string): string => (text.length > 80 ? `${text.slice(0, 80)}…` : text);
const quoted = (text: string): string => `“${shown(text)}”`;
