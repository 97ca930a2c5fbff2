import { describe, expect, test } from 'vitest';
import { blocks, inlines } from './markdown';

const text = (value: string) => [{ kind: 'text', text: value }];

describe('blocks', () => {
  test('headings and paragraphs', () =>
    expect(blocks('## Tiers\n\nTwo lines\nof text.')).toEqual([
      { kind: 'heading', depth: 2, text: text('Tiers') },
      { kind: 'paragraph', text: text('Two lines of text.') },
    ]));
  test('a list item can have several lines', () =>
    expect(blocks('- one\n  and a half\n- two')).toEqual([
      { kind: 'list', items: [text('one and a half'), text('two')] },
    ]));
  test('a table, with a bar inside code', () =>
    expect(blocks('| a | b |\n|---|---|\n| `x|y` | z |')).toEqual([
      {
        kind: 'table',
        head: [text('a'), text('b')],
        rows: [[[{ kind: 'code', text: 'x|y' }], text('z')]],
      },
    ]));
  test('code keeps its lines, even without an end', () =>
    expect(blocks('```\na\n  b')).toEqual([{ kind: 'code', text: 'a\n  b' }]));
});

describe('inlines', () => {
  test('code, strong text and links', () =>
    expect(inlines('Use `limit`, **not** [this](/docs).')).toEqual([
      { kind: 'text', text: 'Use ' },
      { kind: 'code', text: 'limit' },
      { kind: 'text', text: ', ' },
      { kind: 'strong', text: 'not' },
      { kind: 'text', text: ' ' },
      { kind: 'link', text: 'this', href: '/docs' },
      { kind: 'text', text: '.' },
    ]));
  test.each(['[x](javascript:alert(1))', '[x](//evil.example)', '[x](data:text/html,x)', '<b>bold</b>'])(
    '%s stays text',
    (source) => expect(inlines(source)).toEqual(text(source)),
  );
});
