/**
 * What went wrong, in one word. The first group comes from the status of a response, and `no_data` from its code too.
 * The second group means that there is no response to rely on.
 */
export type ErrorKind =
  | 'invalid' // 400, and arguments that are refused before a request is sent
  | 'unauthorized' // 401: a key is missing, unknown or no longer active, or the day is outside the free window
  | 'forbidden' // 403: the plan does not include it
  | 'not_found' // 404: no such route or item
  | 'no_data' // 404 with the code no_data: nothing is on file
  | 'method_not_allowed' // 405
  | 'conflict' // 409
  | 'too_large' // 413
  | 'uri_too_long' // 414
  | 'too_many' // 429
  | 'internal' // 500 and other faults of a server
  | 'unavailable' // 503
  | 'connection' // the connection failed or ended early
  | 'timeout' // the server did not respond in time
  | 'redirect' // the server redirects, which the API never does
  | 'invalid_response'; // the response is not one of the API

/** What an error can say besides its kind and message. */
export type ErrorDetails = Partial<
  Pick<AssayError, 'status' | 'code' | 'requestId' | 'retryAfter' | 'param' | 'allowed' | 'freeFrom'>
>;

/**
 * The only error that the client throws, besides the reason of an `AbortSignal` that you abort. Properties that are not
 * known are absent, so that a printed error shows no others.
 */
export class AssayError extends Error {
  override readonly name = 'AssayError';
  /** What went wrong, in one word. */
  readonly kind: ErrorKind;
  /** The HTTP status, if there was a response. */
  declare readonly status: number | undefined;
  /** The server's stable word for it, such as `outside_free_window`. */
  declare readonly code: string | undefined;
  /** What to quote in a report to the operator. */
  declare readonly requestId: string | undefined;
  /** After how many seconds the server may respond to the same request. */
  declare readonly retryAfter: number | undefined;
  /** The parameter that is wrong. */
  declare readonly param: string | undefined;
  /** The values that the parameter takes. */
  declare readonly allowed: readonly string[] | undefined;
  /** The first day that needs no key, when you asked for an earlier one. */
  declare readonly freeFrom: string | undefined;

  constructor(kind: ErrorKind, message: string, details: ErrorDetails = {}, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.kind = kind;
    for (const [name, value] of Object.entries(details)) {
      if (value !== undefined) Object.assign(this, { [name]: value });
    }
  }
}

/** The error for an argument that is refused before a request is sent. */
export function invalidArgument(param: string, message: string, allowed?: readonly string[]): AssayError {
  return new AssayError('invalid', message, { param, allowed });
}

const kinds: Record<number, ErrorKind> = {
  400: 'invalid',
  401: 'unauthorized',
  403: 'forbidden',
  404: 'not_found',
  405: 'method_not_allowed',
  409: 'conflict',
  413: 'too_large',
  414: 'uri_too_long',
  429: 'too_many',
  503: 'unavailable',
};

/** Other client errors, such as a proxy's 407, mean that the request was wrong. */
function kindOf(status: number, code: string | undefined): ErrorKind {
  if (status === 404 && code === 'no_data') return 'no_data';
  return kinds[status] ?? (status >= 500 ? 'internal' : 'invalid');
}

/** What the server says about a request that it refused. */
export interface Refusal {
  /** The request, for the message. */
  request: string;
  status: number;
  headers: Headers;
  /** The body, or as much of it as an error has at most. */
  body: string;
  /** Takes out what must not get into an error. */
  redact: (text: string) => string;
}

/** The error for a refused request. Nothing of a body that is not the API's gets into it. */
export function refusalError({ request, status, headers, body, redact }: Refusal): AssayError {
  const text = (value: unknown): string | undefined =>
    typeof value === 'string' && value !== '' ? shown(redact(value), 2000) : undefined;
  const fields = parseObject(body);
  const code = text(fields['code']);
  const message = text(fields['message']);
  const foreign = `${request} has the status ${status}, without an error of the API (${contentType(headers, redact)}).`;
  return new AssayError(kindOf(status, code), code && message ? message : foreign, {
    status,
    code,
    requestId: text(fields['request_id']) ?? text(headers.get('x-request-id')),
    retryAfter: retryAfter(headers),
    param: text(fields['param']),
    allowed: Array.isArray(fields['allowed']) ? fields['allowed'].map(text).filter((item) => item != null) : undefined,
    freeFrom: text(fields['free_from']),
  });
}

/** The type of a body, for messages. */
export function contentType(headers: Headers, redact: (text: string) => string): string {
  const type = headers.get('content-type');
  return type ? `content type ${shown(redact(type), 64)}` : 'no content type';
}

/** The seconds of Retry-After. A date in it is ignored: it would need a clock that agrees with the server's. */
export function retryAfter(headers: Headers): number | undefined {
  const value = headers.get('retry-after')?.trim() ?? '';
  return /^\d{1,9}$/.test(value) ? Number(value) : undefined;
}

/** The object that a text is in JSON, or an empty one. */
export function parseObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}

/** Tells objects from other JSON values. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Control characters could change what a terminal shows, and a long text would hide the rest. */
function shown(text: string, length: number): string {
  // eslint-disable-next-line no-control-regex
  return text.replace(/[\u0000-\u001f\u007f-\u009f]/g, ' ').slice(0, length);
}
