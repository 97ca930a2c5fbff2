import { expect, test } from 'vitest';
import { EventReader } from './sse';

const text = [
  'retry: 2300\n: a comment\n\n',
  'id: 7-a\nevent: hello\ndata: {"success":true}\n\n',
  ': heartbeat\n\n',
  'event: day\ndata: {"a":\ndata: 1}\n\n',
  'id: 8-b\r\nevent: hour\r\ndata:{"b":2}\r\n\r\n',
].join('');

const events = [
  { name: 'hello', id: '7-a', data: '{"success":true}' },
  { name: 'day', id: '7-a', data: '{"a":\n1}' },
  { name: 'hour', id: '8-b', data: '{"b":2}' },
];

test('events are read whole', () => {
  const reader = new EventReader();
  expect(reader.push(text)).toEqual(events);
  expect(reader.retry).toBe(2300);
});

test('events are the same however the text is cut', () => {
  for (let size = 1; size < 40; size++) {
    const reader = new EventReader();
    const read = [];
    for (let at = 0; at < text.length; at += size) read.push(...reader.push(text.slice(at, at + size)));
    expect(read, `pieces of ${size}`).toEqual(events);
  }
});

test('an event that is not finished is none', () => {
  expect(new EventReader().push('event: day\ndata: {}\n')).toEqual([]);
});

test('fields that are unknown or wrong change nothing', () => {
  const reader = new EventReader();
  expect(reader.push('retry: soon\nretry: -1\nid: a\0b\nfield: x\nevent\ndata\n\n')).toEqual([
    { name: 'message', id: '', data: '' },
  ]);
  expect(reader.retry).toBe(0);
});

test('a line without an end is refused before it fills the memory', () => {
  const reader = new EventReader();
  const piece = 'x'.repeat(1 << 18);
  expect(() => {
    for (let i = 0; i < 8; i++) reader.push(piece);
  }).toThrow('too long');
});
