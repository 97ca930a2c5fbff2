import { describe as group, expect, test } from 'vitest';
import { grouped, restatements, summaryOf, type Note } from './notes';
import type { Correction } from './proof';

const series = { gpu: 'H100 SXM', region: '', hourly: false };

const correction = (timestamp: string, from: number | null, to: number | null): Correction => ({
  gpu_type: 'H100 SXM',
  region: 'global',
  granularity: 'daily',
  timestamp,
  revision: 1,
  index_value: to,
  previous_value: from,
  corrected_at: '2026-02-02T10:00:00.000Z',
  reason: 'A rental was withdrawn',
});

group('restatements as notes', () => {
  test('a slot has one note, about its last revision', () => {
    const slot = '2026-01-30T21:00:00.000Z';
    const made = [
      correction(slot, 2.5, 2.25),
      correction('2026-01-31T21:00:00.000Z', 2, null),
      correction(slot, 2.25, 2),
    ];
    expect(restatements(series, made).map((note) => note.text)).toEqual([
      'Restated 2 times, last from $2.2500 to $2.0000: A rental was withdrawn',
      'Restated from $2.0000 to no value: A rental was withdrawn',
    ]);
  });
  test('a note leads to the proof of its slot', () =>
    expect(restatements(series, [correction('2026-01-30T21:00:00.000Z', null, 2)])[0]!.href).toBe(
      '/proof/H100%20SXM?at=2026-01-30T21%3A00%3A00.000Z&grain=daily',
    ));
});

group('marks of notes', () => {
  const note = (at: number): Note => ({ at, kind: 'thin', text: `note ${at}`, href: '/' });
  test('notes that are close share a mark', () =>
    expect(grouped([note(0), note(5), note(9), note(20)], (at) => at, 10).map((one) => one.notes.length)).toEqual([
      3, 1,
    ]));
  test('one note is its own text', () => expect(summaryOf([note(0)])).toBe('1970-01-01: note 0'));
  test('several are counted', () =>
    expect(summaryOf([note(0), note(86_400)])).toBe('2 notes, 1970-01-01 to 1970-01-02'));
});
