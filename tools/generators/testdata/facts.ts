/** What a client reads from ten routes, and from an error. All clients must read the same. */
export interface Facts {
  status: string;
  models: string[];
  price: number;
  prices: number;
  day: string;
  history: [string, number][];
  hours: number;
  memory: string[];
  tokens: [string, number][];
  sites: (string | null)[];
  unknown: string;
}

/** The data of a response in JSON, which could also be a table; or an exception that says why there is none. */
export function expect<T>(data: T | undefined, error: unknown): Exclude<T, string> {
  if (data === undefined || typeof data === 'string') throw new Error(`unexpected error ${JSON.stringify(error)}`);
  return data as Exclude<T, string>;
}

/** The environment of the program. */
export function setting(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set`);
  return value;
}

/** Responses have one object for one memory type, and an array for several. */
export const several = <T>(data: T | T[]): T[] => (Array.isArray(data) ? data : [data]);
