import { invalidArgument } from './error.js';

/** Checks the server's address and returns it without a slash at its end. */
export function baseUrl(address: string | URL): string {
  let url: URL;
  try {
    url = new URL(address);
  } catch {
    throw invalidArgument('url', 'The address of the server is not a URL. It must look like https://data.example.com.');
  }
  // These messages do not repeat the address: what is wrong in it may be a secret.
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    throw invalidArgument('url', 'The address of the server must begin with https:// or http://.');
  }
  if (url.username !== '' || url.password !== '') {
    throw invalidArgument('url', 'The address of the server contains a user name or password. Pass a key as `key`.');
  }
  if (url.href.includes('?') || url.href.includes('#')) {
    throw invalidArgument('url', 'The address of the server must not have a query or a fragment.');
  }
  return url.href.replace(/\/+$/, '');
}

/** Fills the variables of a path in their order, each percent-encoded once. */
export function fillPath(path: string, names: readonly unknown[]): string {
  let next = 0;
  return path.replace(/\{(\w+)\}/g, (_, param: string) => segment(param, names[next++]));
}

function segment(param: string, name: unknown): string {
  if (typeof name !== 'string') throw invalidArgument(param, `${param} must be a string, not ${describe(name)}.`);
  if (name === '') throw invalidArgument(param, `${param} must not be empty.`);
  // URL parsers take these for steps in the path, in any encoding. No name of the API is one of them.
  if (name === '.' || name === '..') throw invalidArgument(param, `${param} cannot be ${JSON.stringify(name)}.`);
  return encode(param, name);
}

function encode(param: string, text: string): string {
  try {
    return encodeURIComponent(text);
  } catch {
    throw invalidArgument(param, `${param} has half of a surrogate pair, which cannot be sent.`);
  }
}

/**
 * The query of a request, beginning with `?` unless it is empty. Names that are not parameters of the route are
 * refused: the server would ignore a misspelled one and respond with something else.
 */
export function buildQuery(parameters: Readonly<Record<string, string>>, options: object, method: string): string {
  const parts: string[] = [];
  for (const [option, value] of Object.entries(options)) {
    if (value == null || option === 'signal') continue;
    const parameter = Object.hasOwn(parameters, option) ? parameters[option] : undefined;
    if (parameter === undefined) {
      const allowed = [...Object.keys(parameters), 'signal'];
      throw invalidArgument(option, `${method} has no option "${option}". It has ${allowed.join(', ')}.`, allowed);
    }
    parts.push(`${parameter}=${encode(option, parameterText(option, value))}`);
  }
  return parts.length === 0 ? '' : `?${parts.join('&')}`;
}

function parameterText(option: string, value: unknown): string {
  if (Array.isArray(value) && value.length > 0) return value.map((item) => parameterText(option, item)).join(',');
  if (value instanceof Date && !Number.isNaN(value.getTime())) return value.toISOString();
  if (typeof value === 'boolean') return String(value);
  if (typeof value === 'number' && Number.isFinite(value)) return plainDecimal(value);
  // An empty region is the index over all regions. To the server any other empty value is an absent one, which for a
  // GPU model means another model.
  if (typeof value === 'string' && (value !== '' || option === 'region')) return value;
  throw invalidArgument(option, `${option} must not be ${describe(value)}.`);
}

/** The API takes no exponents. Numbers that need one are too small or too large for every parameter. */
function plainDecimal(value: number): string {
  const text = String(value);
  return text.includes('e') ? value.toFixed(12) : text;
}

function describe(value: unknown): string {
  if (value === '') return 'an empty string';
  if (value instanceof Date) return 'an invalid date';
  if (Array.isArray(value)) return 'an empty list';
  if (typeof value === 'object' && value !== null) return 'an object';
  return typeof value === 'function' ? 'a function' : String(value);
}
