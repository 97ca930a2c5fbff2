// JSON that every program reads alike.
import { quoted, Wrong } from './wrong';

/**
 * The members of a JSON object, each as the text that was sent. Other programs must read the same: a name that occurs
 * twice, or differs from another only in case, could show one value to some readers and prove another.
 */
export function members(text: string, what: string): Map<string, string> {
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

export function textField(fields: Map<string, string>, name: string, what: string): string {
  const value = field(fields, name);
  if (typeof value !== 'string') throw misses(name, what);
  return value;
}

export function numberField(fields: Map<string, string>, name: string, what: string): number {
  const value = field(fields, name);
  if (!Number.isSafeInteger(value)) throw misses(name, what);
  return value as number;
}

export function listField(fields: Map<string, string>, name: string, what: string): string[] {
  const value = field(fields, name);
  if (!Array.isArray(value) || !value.every((one) => typeof one === 'string')) throw misses(name, what);
  return value;
}
