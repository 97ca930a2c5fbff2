import { describe, expect, test, vi } from 'vitest';
import { clearCache } from './api';
import {
  bundleCommands,
  citation,
  fetchCommand,
  revisionsOf,
  sentenceOf,
  shellWord,
  slotIndex,
  verifyCommand,
  type Determination,
} from './proof';

const record: Determination = {
  ...{
    gpu_type: 'H100 SXM',
    region: 'global',
    granularity: 'daily',
    timestamp: '2026-11-13T21:00:00.000Z',
    revision: 0,
  },
  ...{ window: { from: '2026-11-12T21:00:00.000Z', to: '2026-11-13T21:00:00.000Z' }, methodology: '1.0', receipt: 9 },
  ...{ index_value: 2.5, transactions: 40, gpu_hours: 900, providers: 4, hhi: 3000 },
  ...{ lowest_price: 2, highest_price: 3, median_price: 2.4 },
  ...{ excluded: { unverified: 0, withdrawn: 0 }, adjusted: { winsorised: 0, capped: 0 } },
  ...{ inputs_digest: 'd'.repeat(64), published_at: '2026-11-13T21:10:00.000Z' },
  ...{ previous_hash: '0'.repeat(64), hash: 'a'.repeat(64) },
};
const daily = { gpu: 'H100 SXM', region: '', hourly: false };

describe('what a value rests on', () => {
  test.each([
    [{}, 1, '40 verified rentals by 4 providers, 900 GPU-hours; unchanged since publication.'],
    [
      { transactions: 1, providers: 1, gpu_hours: 1 },
      1,
      '1 verified rental by 1 provider, 1 GPU-hour; unchanged since publication.',
    ],
    [{}, 2, '40 verified rentals by 4 providers, 900 GPU-hours; restated since.'],
    [
      { revision: 1 },
      2,
      '40 verified rentals by 4 providers, 900 GPU-hours; restated once, last 2026-11-13 21:10:00.000 UTC.',
    ],
    [
      { revision: 2, index_value: null },
      3,
      'Taken back: no value holds for this time; restated 2 times, last 2026-11-13 21:10:00.000 UTC.',
    ],
  ])('%o of %i records', (changes, revisions, sentence) =>
    expect(sentenceOf({ ...record, ...changes }, revisions)).toBe(sentence),
  );
});

test('a citation leads to the revision that it names', () =>
  expect(citation('https://assay.example', { ...daily, region: 'us-east' }, record)).toBe(
    'H100 SXM (global), daily index, 2026-11-13 21:00 UTC: 2.5000 USD per GPU-hour. ' +
      'Assay, revision 0, methodology 1.0, as of 2026-11-13T21:10:00.000Z, ' +
      `record ${'a'.repeat(64)}. https://assay.example/proof/H100%20SXM` +
      '?at=2026-11-13T21%3A00%3A00.000Z&grain=daily&region=us-east&as_of=2026-11-13T21%3A10%3A00.000Z',
  ));

describe('shell words', () => {
  test.each([
    ['assay-demo', 'assay-demo'],
    ['H100 SXM', "'H100 SXM'"],
    ["it's", "'it'\\''s'"],
    ['$(rm -rf .)', "'$(rm -rf .)'"],
    ['', "''"],
  ])('%j', (text, word) => expect(shellWord(text)).toBe(word));
});

describe('commands', () => {
  test('verify recomputes the hour that ends the window', () =>
    expect(verifyCommand(record, 'assay-demo')).toBe(
      "assay verify --dir assay-demo --gpu 'H100 SXM' --from 2026-11-13T21:00:00Z --to 2026-11-13T22:00:00Z",
    ));
  test('export covers the day and finds the record by its hash', () =>
    expect(bundleCommands(record, 'my data', 'AAA=').split('\n')).toEqual([
      "assay export --dir 'my data' --bundle proof-2026-11-13 --from 2026-11-13 --to 2026-11-14",
      'assay verify --bundle proof-2026-11-13 --public-key AAA=',
      `grep ${'a'.repeat(64)} proof-2026-11-13/records.ndjson`,
    ]));
  test('without a signature there is no public key', () =>
    expect(bundleCommands(record, 'd', '')).not.toContain('--public-key'));
  test('fetch names the exact revision', () =>
    expect(fetchCommand('https://assay.example', { ...daily, region: 'eu-west' }, record)).toBe(
      'curl -H "Authorization: Bearer $ASSAY_KEY" ' +
        "'https://assay.example/api/gpu/H100%20SXM/determination?date=2026-11-13&region=eu-west&revision=0'",
    ));
});

describe('the slot of an instant', () => {
  const instants = ['2026-11-12T21:00:00.000Z', '2026-11-13T21:00:00.000Z'];
  test('of a daily series is found by its day', () => expect(slotIndex(instants, '2026-11-13', false)).toBe(1));
  test('of an hourly series is found by its exact end', () => {
    expect(slotIndex(instants, '2026-11-13T21:00:00Z', true)).toBe(1);
    expect(slotIndex(instants, '2026-11-13T20:00:00Z', true)).toBe(-1);
  });
  test('of no date is none', () => expect(slotIndex(instants, 'yesterday', false)).toBe(-1));
});

test('revisions come oldest first', async () => {
  clearCache();
  vi.stubGlobal('fetch', async (url: string) => {
    const revision = Number(new URL(url, 'https://assay.example').searchParams.get('revision') ?? 2);
    return Response.json({
      success: true,
      access: 'full',
      granularity: 'daily',
      revisions: 3,
      data: { ...record, revision },
    });
  });
  expect((await revisionsOf(daily, record.timestamp)).map((one) => one.revision)).toEqual([0, 1, 2]);
});
