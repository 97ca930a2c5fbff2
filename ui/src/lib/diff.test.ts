import { expect, test } from 'vitest';
import { diff } from './diff';

const shown = (before: string, after: string) =>
  diff(before, after).map(({ kind, text }) => ({ same: ' ', added: '+', removed: '-' })[kind] + text);

test('equal texts differ nowhere', () => expect(shown('a\nb\n', 'a\nb')).toEqual([' a', ' b']));
test('a changed line is removed and added', () =>
  expect(shown('a\nb\nc', 'a\nx\nc')).toEqual([' a', '-b', '+x', ' c']));
test('lines are added at both ends', () => expect(shown('b', 'a\nb\nc')).toEqual(['+a', ' b', '+c']));
test('lines are removed in the middle', () => expect(shown('a\nb\nc\nd', 'a\nd')).toEqual([' a', '-b', '-c', ' d']));
