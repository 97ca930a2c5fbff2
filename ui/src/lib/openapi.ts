// The API description, prepared for display: references resolved, operations grouped by tag.
import { get } from './api';

export interface Schema {
  $ref?: string;
  type?: string | string[];
  format?: string;
  description?: string;
  enum?: unknown[];
  /** Known values; a later release may add more. */
  'x-extensible-enum'?: string[];
  const?: unknown;
  default?: unknown;
  examples?: unknown[];
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  exclusiveMaximum?: number;
  minLength?: number;
  maxLength?: number;
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
}

export interface Parameter {
  name: string;
  in: 'path' | 'query' | 'header' | 'cookie';
  required?: boolean;
  description?: string;
  schema?: Schema;
  example?: unknown;
}

interface Content {
  schema?: Schema;
  example?: unknown;
  examples?: Record<string, { $ref?: string; summary?: string; value?: unknown }>;
}

/** A response that an operation can have. */
export interface OperationResponse {
  status: string;
  description: string;
  type: string;
  schema?: Schema | undefined;
  examples: { title: string; value: unknown }[];
}

export interface Operation {
  id: string;
  method: string;
  path: string;
  tag: string;
  summary: string;
  description: string;
  deprecated: boolean;
  access: Access;
  parameters: Parameter[];
  body: { required: boolean; schema: Schema; example: unknown } | undefined;
  responses: OperationResponse[];
}

/** Who may call an operation, in words, and which credentials it accepts. */
export interface Access {
  label: string;
  text: string;
  key: boolean;
  session: boolean;
  open: boolean;
}

type Reference = { $ref?: string };
type RawOperation = {
  operationId: string;
  tags?: string[];
  summary?: string;
  description?: string;
  deprecated?: boolean;
  security?: Record<string, string[]>[];
  parameters?: (Parameter & Reference)[];
  requestBody?: { required?: boolean; content: Record<string, Content> };
  responses: Record<string, Reference & { description?: string; content?: Record<string, Content> }>;
};

export interface Document {
  info: { title: string; version: string; description?: string };
  tags?: { name: string; description?: string }[];
  paths: Record<string, Record<string, RawOperation>>;
}

export interface Description {
  title: string;
  version: string;
  text: string;
  tags: { name: string; description: string; operations: Operation[] }[];
  /** Resolves a reference; any other value is returned as is. Fields next to the reference override its target. */
  resolve<T extends object>(value: T & Reference): T;
}

export async function readDescription(): Promise<Description> {
  const document = await get('/openapi.json');
  if (!isDocument(document)) throw new Error('The API description is not an OpenAPI document.');
  return descriptionOf(document);
}

/** The API describes its own description as a loose object, so the parts that are used here are checked. */
function isDocument(value: object): value is Document {
  const info = 'info' in value ? value.info : null;
  const paths = 'paths' in value ? value.paths : null;
  return typeof info === 'object' && info !== null && 'title' in info && typeof paths === 'object' && paths !== null;
}

export function descriptionOf(document: Document): Description {
  const resolve = <T extends object>(value: T & Reference): T => {
    if (!value.$ref) return value;
    const { $ref, ...overrides } = value;
    return { ...resolve(targetOf<T & Reference>(document, $ref)), ...overrides };
  };
  const operations = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, raw]) => operation(path, method, raw, resolve)),
  );
  const tags = [...new Set([...(document.tags ?? []).map((tag) => tag.name), ...operations.map((one) => one.tag)])];
  return {
    title: document.info.title,
    version: document.info.version,
    text: document.info.description ?? '',
    tags: tags.map((name) => ({
      name,
      description: document.tags?.find((tag) => tag.name === name)?.description ?? '',
      operations: operations.filter((one) => one.tag === name),
    })),
    resolve,
  };
}

/** The value that a reference such as `#/components/schemas/Site` names. */
function targetOf<T>(document: Document, reference: string): T {
  const steps = reference.slice(2).split('/');
  let node: unknown = document;
  for (const step of steps) {
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~');
    node = typeof node === 'object' && node !== null ? Reflect.get(node, name) : undefined;
  }
  return (node ?? {}) as T;
}

function operation(path: string, method: string, raw: RawOperation, resolve: Description['resolve']): Operation {
  const body = raw.requestBody?.content['application/json'];
  return {
    id: raw.operationId,
    method: method.toUpperCase(),
    path,
    tag: raw.tags?.[0] ?? 'Other',
    summary: raw.summary ?? path,
    description: raw.description ?? '',
    deprecated: raw.deprecated ?? false,
    access: accessOf(raw),
    parameters: (raw.parameters ?? []).map((parameter) => {
      const found = resolve<Parameter>(parameter);
      return found.schema ? { ...found, schema: resolve(found.schema) } : found;
    }),
    body: body?.schema && {
      required: raw.requestBody?.required ?? false,
      schema: resolve(body.schema),
      example: body.example,
    },
    responses: Object.entries(raw.responses).map(([status, response]) => {
      const found = resolve(response);
      const [type, content] = Object.entries(found.content ?? {})[0] ?? ['', undefined];
      const several = Object.values(content?.examples ?? {}).map((one) => resolve(one));
      return {
        status,
        description: found.description ?? '',
        type,
        schema: content?.schema,
        examples: [
          ...(content?.example === undefined ? [] : [{ title: 'Example', value: content.example }]),
          ...several.map((one) => ({ title: one.summary ?? 'Example', value: one.value })),
        ],
      };
    }),
  };
}

function accessOf(raw: RawOperation): Access {
  const schemes = raw.security ?? [];
  const has = (scheme: string) => schemes.some((one) => scheme in one);
  const key = has('apiKey');
  const session = has('session');
  const open = schemes.length === 0 || schemes.some((one) => Object.keys(one).length === 0);
  const say = (label: string, text: string): Access => ({ label, text, key, session, open });
  if (!key && !session) return say('Public', 'Open to everyone. Keys are ignored.');
  if (!key) return say('Account', 'Needs a signed-in session in this dashboard. Keys are not accepted.');
  if (open) return say('Free in part', 'Free data needs no key. The rest needs a Premium or Full key.');
  if (/Needs a Full key\.$/.test(raw.description ?? '')) return say('Full', 'Needs a Full key.');
  if (raw.tags?.includes('Accounts')) return say('Account or key', 'Needs a signed-in session or a key.');
  return say('Premium or Full', 'Needs a Premium or Full key.');
}

/** The type of a value in words: `string, date-time, or null`. */
export function typeOf(schema: Schema, resolve: Description['resolve'], depth = 0): string {
  const found = resolve(schema);
  const one = found.anyOf ?? found.oneOf?.filter((part) => part.$ref || part.type);
  if (one && one.length > 0 && depth < 4)
    return [...new Set(one.map((part) => typeOf(part, resolve, depth + 1)))].join(' or ');
  const types = Array.isArray(found.type) ? found.type : [found.type ?? (found.properties ? 'object' : 'any')];
  const words = types.map((type) =>
    type === 'array' && found.items && depth < 4 ? `array of ${typeOf(found.items, resolve, depth + 1)}` : type,
  );
  return words.join(' or ') + (found.format ? `, ${found.format}` : '');
}

/** The limits of a value, in words. */
export function boundsOf(schema: Schema): string {
  const parts: string[] = [];
  if (schema.const !== undefined) parts.push(`always ${JSON.stringify(schema.const)}`);
  if (schema.minimum !== undefined) parts.push(`from ${schema.minimum}`);
  if (schema.exclusiveMinimum !== undefined) parts.push(`above ${schema.exclusiveMinimum}`);
  if (schema.maximum !== undefined) parts.push(`to ${schema.maximum}`);
  if (schema.exclusiveMaximum !== undefined) parts.push(`below ${schema.exclusiveMaximum}`);
  if (schema.minLength !== undefined && schema.minLength > 1) parts.push(`at least ${schema.minLength} characters`);
  if (schema.maxLength !== undefined) parts.push(`at most ${schema.maxLength} characters`);
  return parts.join(', ');
}

/** The values that a schema lists, whether they are all there will ever be or not. */
export const listedValues = (schema: Schema): unknown[] => schema.enum ?? schema['x-extensible-enum'] ?? [];

/** The values that a parameter accepts, if the description lists them. */
export function choicesOf(schema: Schema | undefined, resolve: Description['resolve']): string[] {
  if (!schema) return [];
  const found = resolve(schema);
  const listed = listedValues(found);
  if (listed.length > 0) return listed.filter((value) => value !== null).map(String);
  if (found.type === 'boolean') return ['true', 'false'];
  return (found.anyOf ?? []).map((part) => choicesOf(part, resolve)).find((list) => list.length > 0) ?? [];
}

/** Whether a body holds a password. Such requests have their own page, which hides what is typed. */
export const holdsPassword = (schema: Schema): boolean =>
  Object.values(schema.properties ?? {}).some((property) => property.format === 'password');

/** The path and query of a request. Everything that could end a quoted string is encoded. */
export function requestAddress(operation: Operation, values: Record<string, string>): string {
  const encoded = (text: string) => encodeURIComponent(text).replaceAll("'", '%27');
  const path = operation.path.replaceAll(/\{([^}]+)\}/g, (_, name: string) => encoded(values[name] ?? ''));
  const query = operation.parameters
    .filter((parameter) => parameter.in === 'query' && (values[parameter.name] ?? '') !== '')
    .map((parameter) => `${encoded(parameter.name)}=${encoded(values[parameter.name]!)}`);
  return path + (query.length > 0 ? `?${query.join('&')}` : '');
}
