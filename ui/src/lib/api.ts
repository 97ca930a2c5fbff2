// The dashboard reads and writes through the public API alone, as any other program would.

/** A failure that the API told us of, or the network's. */
export class ApiError extends Error {
  constructor(
    message: string,
    readonly status: number,
    readonly code: string,
    readonly requestID = '',
    readonly retryAfter = 0,
  ) {
    super(message);
  }
}

export type Params = Record<string, string | number | undefined>;

/** An address of the API: path segments are encoded, parameters that are undefined or empty are left out. */
export function addressOf(path: string, params: Params = {}): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    if (value !== undefined && value !== '') query.set(name, String(value));
  }
  const text = query.toString();
  return path + (text ? `?${text}` : '');
}

// Answers are kept for as long as a reader looks around: a page that is visited again does not ask again, and so keeps
// within the limit of requests. They are dropped when the reader's access changes.
const keepFor = 60_000;
const kept = new Map<string, { at: number; answer: Promise<unknown> }>();

/** Forgets answers: all, since who reads has changed, or those of one path, since it was written to. */
export function forget(path = ''): void {
  for (const url of kept.keys()) if (url.startsWith(path)) kept.delete(url);
}

/** Reads from the API. The same question within a minute gets the same answer. */
export function get<T>(path: string, params: Params = {}): Promise<T> {
  const url = addressOf(path, params);
  const known = kept.get(url);
  if (known && Date.now() - known.at < keepFor) return known.answer as Promise<T>;
  const answer = ask<T>(url, { method: 'GET' });
  kept.set(url, { at: Date.now(), answer });
  answer.catch(() => kept.delete(url)); // a failure is not kept
  return answer;
}

/** Sends a change to the API. */
export function send<T>(method: 'POST' | 'PUT' | 'DELETE', path: string, body?: unknown): Promise<T> {
  const options: RequestInit = { method };
  if (body !== undefined) {
    options.headers = { 'Content-Type': 'application/json' };
    options.body = JSON.stringify(body);
  }
  return ask<T>(path, options);
}

async function ask<T>(url: string, options: RequestInit): Promise<T> {
  let response: Response;
  try {
    // Always asked for anew: what a browser has kept may be of another sign-in. The ETag makes that cheap.
    response = await fetch(url, { ...options, cache: 'no-cache', credentials: 'same-origin' });
  } catch {
    throw new ApiError('The server cannot be reached.', 0, 'unreachable');
  }
  const body: unknown = await response.json().catch(() => null);
  if (response.ok) return body as T;
  const told = (body ?? {}) as { message?: string; code?: string; request_id?: string };
  throw new ApiError(
    told.message ?? `The server answered ${response.status}.`,
    response.status,
    told.code ?? '',
    told.request_id,
    Number(response.headers.get('Retry-After') ?? 0),
  );
}
