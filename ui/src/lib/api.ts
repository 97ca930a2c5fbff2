// The dashboard reads and writes through the public API only, like any other client. Paths, parameters and bodies have
// the types of the API description.
import type { components, paths } from '../../generated/api';
import { noteProvenance } from './provenance.svelte';

type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';

/** The paths that support a method. */
type PathsWith<M extends Method> = { [P in keyof paths]: paths[P] extends Record<M, object> ? P : never }[keyof paths];

type Operation<P extends keyof paths, M extends Method> = paths[P] extends Record<M, infer Found> ? Found : never;
type SuccessOf<O> = O extends { responses: infer Responses }
  ? Responses[Extract<keyof Responses, 200 | 201 | 202>]
  : never;
type JSONOf<T> = T extends { content: { 'application/json': infer Body } } ? Body : never;

/** The body of a successful response. */
export type ResponseBody<P extends keyof paths, M extends Method = 'get'> = JSONOf<SuccessOf<Operation<P, M>>>;

type RequestBody<O> = O extends { requestBody?: infer Request } ? JSONOf<NonNullable<Request>> : never;

/** One row of a response that lists. */
export type Row<P extends keyof paths> = ResponseBody<P> extends { data: (infer Item)[] } ? Item : never;

type PathNames<P extends string> = P extends `${string}{${infer Name}}${infer Rest}` ? Name | PathNames<Rest> : never;
type QueryNames<O> = O extends { parameters: { query?: infer Query } } ? keyof NonNullable<Query> : never;
type Query<P extends keyof paths> = Partial<Record<QueryNames<Operation<P, 'get'>>, string | number | undefined>>;

/** The values of the parameters in a path and, of a read, in the query. */
interface Parameters<P extends keyof paths> {
  path: Record<PathNames<P>, string>;
  query?: Query<P>;
}

/** Parameters may be left out where the path has none. */
type ParametersOf<P extends keyof paths> = [PathNames<P>] extends [never]
  ? [parameters?: Omit<Parameters<P>, 'path'>]
  : [parameters: Parameters<P>];

/** An error that the API responded with, or a network error. */
export class ApiError extends Error {
  constructor(
    message: string,
    readonly status: number,
    readonly code: string,
    readonly requestID = '',
    readonly retryAfter = 0,
    /** The parameter or field that is wrong; empty if it is none. */
    readonly param = '',
  ) {
    super(message);
  }

  /** Wraps any error that was thrown. */
  static from(cause: unknown): ApiError {
    return cause instanceof ApiError ? cause : new ApiError(String(cause), 0, 'unexpected');
  }
}

/** The URL of a request. Path parameters are encoded; query parameters that are undefined or empty are left out. */
export function addressOf<P extends keyof paths>(path: P, ...[parameters]: ParametersOf<P>): string {
  const values: Partial<Parameters<P>> = parameters ?? {};
  const segments = new Map(Object.entries<string>(values.path ?? {}));
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries<string | number | undefined>(values.query ?? {})) {
    if (value !== undefined && value !== '') query.set(name, String(value));
  }
  const filled = path.replaceAll(/\{([^}]+)\}/g, (_, name: string) => encodeURIComponent(segments.get(name) ?? ''));
  return filled + (query.size > 0 ? `?${query}` : '');
}

// Responses are cached for as long as a reader looks around, so that going back to a page does not spend the request
// limit. The cache is cleared when the reader's access changes.
const cacheFor = 60_000;
type JSONBody = ReturnType<Response['json']>;
const cache = new Map<string, { at: number; body: JSONBody }>();

/** Clears the cache: all of it when the reader changes, or one path after a write to it. */
export function clearCache(path = ''): void {
  for (const url of cache.keys()) if (url.startsWith(path)) cache.delete(url);
}

/** Reads from the API. The same request within a minute gets the cached response. */
export function get<P extends PathsWith<'get'>>(path: P, ...parameters: ParametersOf<P>): Promise<ResponseBody<P>> {
  const url = addressOf(path, ...parameters);
  return cached(url, () => request(url, { method: 'GET' }));
}

/** Reads the exact text of a response, for those who check it to the byte. It is cached likewise. */
export function getText<P extends PathsWith<'get'>>(path: P, ...parameters: ParametersOf<P>): Promise<string> {
  const url = addressOf(path, ...parameters);
  return cached(`${url}#text`, async () => (await respond(url, { method: 'GET' })).text());
}

function cached(name: string, read: () => JSONBody): JSONBody {
  const found = cache.get(name);
  if (found && Date.now() - found.at < cacheFor) return found.body;
  const body = read();
  cache.set(name, { at: Date.now(), body });
  body.catch(() => cache.delete(name)); // errors are not cached
  return body;
}

/** Sends a change to the API. */
export function send<M extends Exclude<Method, 'get'>, P extends PathsWith<M>>(
  method: M,
  path: P,
  body: RequestBody<Operation<P, M>> | undefined,
  ...parameters: ParametersOf<P>
): Promise<ResponseBody<P, M>> {
  const options: RequestInit = { method: method.toUpperCase() };
  if (body !== undefined) {
    options.headers = { 'Content-Type': 'application/json' };
    options.body = JSON.stringify(body);
  }
  return request(addressOf(path, ...parameters), options);
}

async function request(url: string, options: RequestInit): JSONBody {
  const response = await respond(url, options);
  return response.json().catch(() => null);
}

/** Sends a request and returns the response if it is a success. */
async function respond(url: string, options: RequestInit): Promise<Response> {
  let response: Response;
  try {
    // The browser always revalidates: its cached response may belong to another sign-in. The ETag makes that cheap.
    response = await fetch(url, { ...options, cache: 'no-cache', credentials: 'same-origin' });
  } catch {
    throw new ApiError('The server cannot be reached.', 0, 'unreachable');
  }
  noteProvenance(response.headers);
  if (response.ok) return response;
  const error: Partial<components['schemas']['Error']> = (await response.json().catch(() => null)) ?? {};
  throw new ApiError(
    error.message ?? `The server responded with status ${response.status}.`,
    response.status,
    error.code ?? '',
    error.request_id,
    Number(response.headers.get('Retry-After') ?? 0),
    error.param ?? '',
  );
}
