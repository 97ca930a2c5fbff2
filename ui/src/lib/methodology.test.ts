import { expect, test } from 'vitest';
import { pageOf, versionAt } from './methodology';

const versions = [
  { version: '1.0.0', effective_at: '1970-01-01T00:00:00.000Z' },
  { version: '1.1.0', effective_at: '2026-10-01T00:00:00.000Z' },
];

test.each([
  ['2026-09-30T23:59:59Z', '1.0.0'],
  ['2026-10-01T00:00:00Z', '1.1.0'],
  ['2026-11-14T21:00:00Z', '1.1.0'],
])('a value of %s follows version %s', (at, version) => expect(versionAt(versions, Date.parse(at))).toBe(version));

test('without versions there is none', () => expect(versionAt([], 0)).toBe(''));

test('a document becomes a part of a page', () =>
  expect(pageOf('# Title\n\nSee [below](#a) and [proof](proof.md#b), or [x](https://x.example).\n')).toBe(
    'See below and [proof](/docs/proof.md#b), or [x](https://x.example).\n',
  ));
