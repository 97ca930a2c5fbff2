// What a chart says about its values besides them: restatements, other rules, and days that rest on too little. Each note
// leads to its record.
import { get, type Row } from './api';
import { day, price } from './format';
import { methodologies, versionAt } from './methodology';
import { correctionsOf, proofAddress, type Correction, type Series } from './proof';

export type NoteKind = 'restated' | 'rules' | 'thin';

export interface Note {
  /** In seconds. */
  at: number;
  kind: NoteKind;
  text: string;
  href: string;
}

type Notice = Row<'/api/notices'>;

/** All notes on a series, oldest first. Restatements need a key. */
export async function notesOf(series: Series, keyed: boolean): Promise<Note[]> {
  const [notices, corrections] = await Promise.all([noticesOf(series.gpu), keyed ? correctionsOf(series) : []]);
  const ruled = notices.some((notice) => notice.kind === 'methodology');
  const versions = ruled ? (await methodologies()).data : [];
  return [
    ...restatements(series, corrections),
    ...notices.flatMap((notice) => noteOf(series, notice, (at) => versionAt(versions, at))),
  ].sort((a, b) => a.at - b.at);
}

// A GPU model with a notice for every day of every region has no more than this in years.
const mostPages = 5;

/** The newest notices about a GPU model, up to 5,000. */
async function noticesOf(gpuType: string): Promise<Notice[]> {
  const rows: Notice[] = [];
  for (let page = 0; page < mostPages; page++) {
    const { data, has_more } = await get('/api/notices', {
      query: { gpuType, limit: 1000, before: rows.at(-1)?.number },
    });
    rows.push(...data);
    if (!has_more) break;
  }
  return rows;
}

/** One note for each slot that was restated, however often. */
export function restatements(series: Series, corrections: Correction[]): Note[] {
  const slots = new Map<string, Correction[]>();
  for (const one of corrections) slots.set(one.timestamp, [...(slots.get(one.timestamp) ?? []), one]);
  const value = (one: number | null) => (one === null ? 'no value' : price(one));
  return [...slots].map(([timestamp, made]) => {
    const { previous_value, index_value, reason } = made.at(-1)!;
    const often = made.length > 1 ? `Restated ${made.length} times, last from` : 'Restated from';
    return {
      at: Date.parse(timestamp) / 1000,
      kind: 'restated',
      text: `${often} ${value(previous_value)} to ${value(index_value)}: ${reason}`,
      href: proofAddress(series, timestamp),
    };
  });
}

function noteOf(series: Series, notice: Notice, versionOf: (at: number) => string): Note[] {
  if (notice.about === null || (notice.region !== null && notice.region !== (series.region || 'global'))) return [];
  const at = Date.parse(notice.about);
  switch (notice.kind) {
    case 'methodology':
      return [{ at: at / 1000, kind: 'rules', text: notice.text, href: `/methodology?version=${versionOf(at)}` }];
    // These are about days. One without a value has no record but the notice.
    case 'no_value':
    case 'history':
      return series.hourly ? [] : [{ at: at / 1000, kind: 'thin', text: notice.text, href: '/corrections#notices' }];
    case 'fallback':
      return series.hourly
        ? []
        : [{ at: at / 1000, kind: 'thin', text: notice.text, href: proofAddress(series, notice.about) }];
    default:
      return [];
  }
}

/** Notes that are less than some pixels apart, as one mark each. */
export function grouped(notes: Note[], x: (at: number) => number, least: number): { left: number; notes: Note[] }[] {
  const groups: { left: number; notes: Note[] }[] = [];
  for (const note of notes) {
    const left = x(note.at);
    const before = groups.at(-1);
    if (before && left - before.left < least) before.notes.push(note);
    else groups.push({ left, notes: [note] });
  }
  return groups;
}

/** What notes are about, in a few words: for one its text, for several how many there are. */
export function summaryOf(notes: Note[]): string {
  const [first, last] = [notes[0], notes.at(-1)];
  if (!first || !last) return '';
  if (notes.length === 1) return `${day(first.at * 1000)}: ${first.text}`;
  return `${notes.length} notes, ${day(first.at * 1000)} to ${day(last.at * 1000)}`;
}
