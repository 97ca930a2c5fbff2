import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { EventParser, type RawEvent } from '../../dist/sse.js';

/** What a parser makes of pieces of bytes. */
function parse(pieces: Uint8Array[]) {
  const events: RawEvent[] = [];
  const seen = { events, comments: 0, retries: [] as number[] };
  const parser = new EventParser({
    event: (event) => events.push(event),
    comment: () => seen.comments++,
    retry: (milliseconds) => seen.retries.push(milliseconds),
  });
  for (const piece of pieces) parser.push(piece);
  return seen;
}

const bytes = (text: string) => new TextEncoder().encode(text);
const event = (event: string, data: string, id = ''): RawEvent => ({ event, data, id });

describe('event stream', () => {
  const f = (name: string, text: string, ...want: RawEvent[]) =>
    test(name, () => {
      const whole = bytes(text);
      assert.deepEqual(parse([whole]).events, want, 'as one piece');
      assert.deepEqual(parse([...whole].map((byte) => Uint8Array.of(byte))).events, want, 'byte by byte');
      for (let i = 0; i <= whole.length; i++) {
        assert.deepEqual(parse([whole.subarray(0, i), whole.subarray(i)]).events, want, `cut at ${i}`);
      }
    });
  f('lines end with LF', 'event: day\nid: 1-a\ndata: {}\n\n', event('day', '{}', '1-a'));
  f('lines end with CR', 'event: day\rid: 1-a\rdata: {}\r\r', event('day', '{}', '1-a'));
  f('lines end with CR LF', 'event: day\r\nid: 1-a\r\ndata: {}\r\n\r\n', event('day', '{}', '1-a'));
  f('lines end with all of them', 'data: a\r\ndata: b\rdata: c\n\r\n', event('message', 'a\nb\nc'));
  f('CR LF is one line end', 'data: a\r\n\r\ndata: b\r\n\r\n', event('message', 'a'), event('message', 'b'));
  f('text of more than a byte', 'data: é€😀\n\n', event('message', 'é€😀'));
  f('a byte order mark at the beginning', '\ufeffdata: a\n\n', event('message', 'a'));
  f('a byte order mark later', 'data: a\n\n\ufeffdata: b\n\n', event('message', 'a'));
  f('one space after the colon is dropped', 'data:  a\n\ndata:b\n\n', event('message', ' a'), event('message', 'b'));
  f('fields without a colon', 'data\nid\n\n', event('message', ''));
  f('data of several lines', 'data: a\ndata\ndata: b\n\n', event('message', 'a\n\nb'));
  f('comments', ': heartbeat\n\n:\n:x\ndata: a\n: between\n\n', event('message', 'a'));
  f('unknown fields', 'color: red\nDATA: x\n data: y\ndata: a\n\n', event('message', 'a'));
  f('an event without data is none', 'event: day\nid: 5\n\ndata: a\n\n', event('message', 'a', '5'));
  f('an id stays', 'id: 5\ndata: a\n\ndata: b\n\n', event('message', 'a', '5'), event('message', 'b', '5'));
  f('an empty id clears it', 'id: 5\ndata: a\n\nid\ndata: b\n\n', event('message', 'a', '5'), event('message', 'b'));
  f('an id with NUL is ignored', 'id: 5\nid: a\0b\ndata: a\n\n', event('message', 'a', '5'));
  f('an event that does not end is none', 'data: a\n\ndata: b\n', event('message', 'a'));

  test('counts comments and passes reconnection times', () => {
    const seen = parse([bytes(': a\n: b\nretry: 1500\nretry: soon\nretry: -1\nretry:\nretry: 99999999999\n\n')]);
    assert.deepEqual([seen.comments, seen.retries], [2, [1500]]);
  });

  test('replaces bytes that are no text', () => {
    assert.deepEqual(parse([Uint8Array.of(0x64, 0x61, 0x74, 0x61, 0x3a, 0xff, 10, 10)]).events, [
      event('message', '\ufffd'),
    ]);
  });

  describe('refuses an event that is too long', () => {
    const long = (name: string, piece: string) =>
      test(name, () => {
        const parser = new EventParser({ event() {}, comment() {}, retry() {} });
        const part = bytes(piece);
        assert.throws(() => {
          for (let sent = 0; sent < 64 * 1024 * 1024; sent += part.length) parser.push(part);
        }, RangeError);
      });
    long('in one line', 'x'.repeat(65536));
    long('in many lines', `data: ${'x'.repeat(999)}\n`.repeat(64));
    long('in many empty lines', 'data\n'.repeat(65536));
  });
});
