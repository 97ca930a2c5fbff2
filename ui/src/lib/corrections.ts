// What was changed after publication, and the notices to readers.
import { get, type Row } from './api';
import { percentFrom } from './change';
import type { Correction } from './proof';

export type FamilyCorrection = Row<'/api/corrections/{family}'>;
export type Notice = Row<'/api/notices'>;

/** The families with a list of their own. */
export const correctedFamilies = {
  models: 'Tokens and workload',
  memory: 'Memory',
  coding: 'Coding',
  utilization: 'Utilization',
} as const;

export type CorrectedFamily = keyof typeof correctedFamilies;

/** Which corrections of GPU values are listed; empty for all. */
export interface Filter {
  gpu: string;
  region: string;
  grain: string;
}

/** A list that may be longer than what is read of it. */
export interface Listed<T> {
  rows: T[];
  /** Whether there are newer ones that were not read. */
  more: boolean;
}

// The API lists the oldest first, so all pages have to be read to get to the newest. These are enough for years of
// restatements, and are a fraction of what a minute allows.
const pageSize = 10_000;
export const mostPages = 5;
export const mostRows = pageSize * mostPages;

async function readAll<T>(
  read: (since: string | undefined) => Promise<{ data: T[]; has_more: boolean; next: string }>,
): Promise<Listed<T>> {
  const rows: T[] = [];
  let since: string | undefined;
  for (let page = 0; page < mostPages; page++) {
    const { data, has_more, next } = await read(since);
    rows.push(...data);
    if (!has_more) return { rows: rows.reverse(), more: false };
    since = next;
  }
  return { rows: rows.reverse(), more: true };
}

/** The corrections of GPU values, the newest first. */
export const corrections = ({ gpu, region, grain }: Filter): Promise<Listed<Correction>> =>
  readAll((since) =>
    get('/api/corrections', { query: { gpuType: gpu, region, granularity: grain, limit: pageSize, since } }),
  );

/** The corrections of another family, the newest first. */
export const familyCorrections = (family: CorrectedFamily): Promise<Listed<FamilyCorrection>> =>
  readAll((since) => get('/api/corrections/{family}', { path: { family }, query: { limit: pageSize, since } }));

/** A page of notices, the newest first: those before a number, or the newest. */
export const notices = (kind: string, before?: number) => get('/api/notices', { query: { kind, before, limit: 50 } });

export const changeOf = ({ previous_value, index_value }: Correction): number | null =>
  percentFrom(previous_value, index_value);

/** The fields of a row that a correction has changed, and those that say which row it is. */
export function changesOf({ previous, current }: Pick<FamilyCorrection, 'previous' | 'current'>): {
  row: string;
  changes: { field: string; from: string; to: string }[];
} {
  const before: Record<string, unknown> = previous ?? {};
  const after: Record<string, unknown> = current ?? {};
  const text = (value: unknown) =>
    value === undefined || value === null ? '–' : typeof value === 'object' ? JSON.stringify(value) : String(value);
  const fields = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  const names = Object.values<unknown>(current ?? previous ?? {}).filter(
    (value): value is string => typeof value === 'string' && !/^\d{4}-\d{2}-\d{2}/.test(value),
  );
  return {
    row: names.join(', '),
    changes: fields
      .filter((field) => field !== 'computedAt' && text(before[field]) !== text(after[field]))
      .map((field) => ({ field, from: text(before[field]), to: text(after[field]) })),
  };
}

export const noticeKinds: Record<string, string> = {
  no_value: 'No value',
  fallback: 'Fallback',
  history: 'History',
  methodology: 'Methodology',
  cessation: 'Ended',
  resumption: 'Resumed',
  message: 'Message',
};
