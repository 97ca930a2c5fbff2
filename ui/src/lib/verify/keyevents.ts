// The key events of a log, as verifier/keys.go reads them: they lead from one key of the log to the next.
import { encode, fromBase64 } from './bytes';
import { listField, members, textField } from './json';
import { isSigned } from './note';
import { quoted, Wrong } from './wrong';

interface KeyEvent {
  action: string;
  key: string; // in base64
}

export interface KeyEvents {
  list: KeyEvent[];
  current: string | undefined;
  revoked: Set<string>;
}

export async function readKeyEvents(log: string, text: string): Promise<KeyEvents> {
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
export function reachedKeys(events: KeyEvents, accepted: string): string[] {
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
