import { describe, expect, test } from 'vitest';
import { commandOf, type Command, type Place, type Press } from './keys';

const page: Place = { typing: false, dialog: false, characters: true, mac: false };
const plain: Omit<Press, 'key'> = {
  ctrlKey: false,
  metaKey: false,
  altKey: false,
  repeat: false,
  isComposing: false,
};

describe('the command of a key', () => {
  const cases: [what: string, press: Partial<Press> & { key: string }, place: Partial<Place>, Command | undefined][] = [
    ['Ctrl-K', { key: 'k', ctrlKey: true }, {}, 'palette'],
    ['Ctrl-K with Caps Lock', { key: 'K', ctrlKey: true }, {}, 'palette'],
    ['Ctrl-K in a field', { key: 'k', ctrlKey: true }, { typing: true }, 'palette'],
    ['Ctrl-K without single characters', { key: 'k', ctrlKey: true }, { characters: false }, 'palette'],
    ['Cmd-K on a Mac', { key: 'k', metaKey: true }, { mac: true }, 'palette'],
    ['Ctrl-K on a Mac', { key: 'k', ctrlKey: true }, { mac: true }, undefined],
    ['Cmd-K elsewhere', { key: 'k', metaKey: true }, {}, undefined],
    ['Ctrl-Cmd-K', { key: 'k', ctrlKey: true, metaKey: true }, { mac: true }, undefined],
    ['Ctrl-K over a dialog', { key: 'k', ctrlKey: true }, { dialog: true }, undefined],
    ['K', { key: 'k' }, {}, undefined],
    ['a slash', { key: '/' }, {}, 'filter'],
    ['a slash in a field', { key: '/' }, { typing: true }, undefined],
    ['a question mark', { key: '?' }, {}, 'keys'],
    ['a question mark over a dialog', { key: '?' }, { dialog: true }, undefined],
    ['3', { key: '3' }, {}, { range: 3 }],
    ['0', { key: '0' }, {}, undefined],
    ['3 in a field', { key: '3' }, { typing: true }, undefined],
    ['Ctrl-3, which chooses a tab', { key: '3', ctrlKey: true }, {}, undefined],
    ['Cmd-3, which chooses a tab', { key: '3', metaKey: true }, { mac: true }, undefined],
    ['Alt-3', { key: '3', altKey: true }, {}, undefined],
    ['3 while it is held', { key: '3', repeat: true }, {}, undefined],
    ['3 while a word is composed', { key: '3', isComposing: true }, {}, undefined],
    ['3 while single characters are off', { key: '3' }, { characters: false }, undefined],
    ['a slash while single characters are off', { key: '/' }, { characters: false }, undefined],
    ['F3', { key: 'F3' }, {}, undefined],
  ];
  test.each(cases)('%s', (_, press, place, want) =>
    expect(commandOf({ ...plain, ...press }, { ...page, ...place })).toEqual(want),
  );
});
