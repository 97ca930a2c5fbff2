// The description of the API, made ready to be shown: references followed, operations by tag.
import { get } from './api';

export interface Schema {
  $ref?: string;
  type?: string | string[];
  format?: string;
  description?: string;
  enum?: unknown[];
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

export interface Answer {
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
  answers: Answer[];
}

/** Who may ask, in words; and which credentials are looked at. */
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

interface Document {
  info: { title: string; version: string; description?: string };
  tags?: { name: string; description?: string }[];
  paths: Record<string, Record<string, RawOperation>>;
}

export interface Description {
  title: string;
  version: string;
  text: string;
  tags: { name: string; description: string; operations: Operation[] }[];
  /** Follows a reference, if it is one. What stands beside the reference goes before what it leads to. */
  follow<T extends object>(value: T & Reference): T;
}

export async function readDescription(): Promise<Description> {
  return describe(await get<Document>('/openapi.json'));
}

function describe(document: Document): Description {
  const follow = <T extends object>(value: T & Reference): T => {
    if (!value.$ref) return value;
    const { $ref, ...beside } = value;
    const target = $ref
      .slice(2)
      .split('/')
      .reduce<unknown>(
        (node, step) =>
          (node as Record<string, unknown> | undefined)?.[step.replaceAll('~1', '/').replaceAll('~0', '~')],
        document,
      );
    return { ...follow((target ?? {}) as T & Reference), ...beside } as T;
  };
  const operations = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, raw]) => operation(path, method, raw, follow)),
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
    follow,
  };
}

function operation(path: string, method: string, raw: RawOperation, follow: Description['follow']): Operation {
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
      const found = follow<Parameter>(parameter);
      return found.schema ? { ...found, schema: follow(found.schema) } : found;
    }),
    body: body?.schema && {
      required: raw.requestBody?.required ?? false,
      schema: follow(body.schema),
      example: body.example,
    },
    answers: Object.entries(raw.responses).map(([status, response]) => {
      const found = follow(response);
      const [type, content] = Object.entries(found.content ?? {})[0] ?? ['', undefined];
      const several = Object.values(content?.examples ?? {}).map((one) => follow(one));
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
  const ways = raw.security ?? [];
  const has = (scheme: string) => ways.some((way) => scheme in way);
  const key = has('apiKey');
  const session = has('session');
  const open = ways.length === 0 || ways.some((way) => Object.keys(way).length === 0);
  const say = (label: string, text: string): Access => ({ label, text, key, session, open });
  if (!key && !session) return say('Public', 'Open to everybody. No key is looked at.');
  if (!key) return say('Account', 'For somebody who is signed in on these pages. No key opens it.');
  if (open) return say('Free in part', 'What is free needs no key. A Premium or Full key opens the rest.');
  if (/Needs a Full key\.$/.test(raw.description ?? '')) return say('Full', 'Needs a Full key.');
  if (raw.tags?.includes('Accounts')) return say('Account or key', 'For somebody who is signed in, or with a key.');
  return say('Premium or Full', 'Needs a Premium or Full key.');
}

/** The type of a value in a few words: `string, date-time, or null`. */
export function typeOf(schema: Schema, follow: Description['follow'], depth = 0): string {
  const found = follow(schema);
  const one = found.anyOf ?? found.oneOf?.filter((part) => part.$ref || part.type);
  if (one && one.length > 0 && depth < 4)
    return [...new Set(one.map((part) => typeOf(part, follow, depth + 1)))].join(' or ');
  const types = Array.isArray(found.type) ? found.type : [found.type ?? (found.properties ? 'object' : 'any')];
  const words = types.map((type) =>
    type === 'array' && found.items && depth < 4 ? `array of ${typeOf(found.items, follow, depth + 1)}` : type,
  );
  return words.join(' or ') + (found.format ? `, ${found.format}` : '');
}

/** The bounds of a value, in words. */
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

/** The values that can be chosen from, if they are few and known. */
export function choicesOf(schema: Schema | undefined, follow: Description['follow']): string[] {
  if (!schema) return [];
  const found = follow(schema);
  if (found.enum) return found.enum.filter((value) => value !== null).map(String);
  if (found.type === 'boolean') return ['true', 'false'];
  return (found.anyOf ?? []).map((part) => choicesOf(part, follow)).find((list) => list.length > 0) ?? [];
}

/** Whether a body holds a password: such a request is made on the page for it, where it cannot be seen. */
export const holdsPassword = (schema: Schema): boolean =>
  Object.values(schema.properties ?? {}).some((property) => property.format === 'password');

/** The address of a request: path and query, with all that could break out of a quoted text encoded. */
export function requestAddress(operation: Operation, values: Record<string, string>): string {
  const encoded = (text: string) => encodeURIComponent(text).replaceAll("'", '%27');
  const path = operation.path.replaceAll(/\{([^}]+)\}/g, (_, name: string) => encoded(values[name] ?? ''));
  const query = operation.parameters
    .filter((parameter) => parameter.in === 'query' && (values[parameter.name] ?? '') !== '')
    .map((parameter) => `${encoded(parameter.name)}=${encoded(values[parameter.name]!)}`);
  return path + (query.length > 0 ? `?${query.join('&')}` : '');
}
