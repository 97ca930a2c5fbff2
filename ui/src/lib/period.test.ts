import { describe, expect, test } from 'vitest';
import { endAt, readEnd, spanOf, within, zoomTo } from './period';

describe('an end in the address', () => {
  test.each([
    ['2026-11-14', '2026-11-14'],
    ['2026-11-14T09:30Z', '2026-11-14T09:30Z'],
    ['2026-11-14T09:30', ''],
    ['2026-13-14', ''],
    ['yesterday', ''],
    ['', ''],
  ])('%s', (text, end) => expect(readEnd(text)).toBe(end));
  test('is a day or, with hours, a minute', () => {
    const at = Date.parse('2026-11-14T09:30:12Z');
    expect([endAt(at, false), endAt(at, true)]).toEqual(['2026-11-14', '2026-11-14T09:30Z']);
  });
});

describe('the instants between two ends', () => {
  test('include a day whole', () =>
    expect(spanOf({ from: '1970-01-02', to: '1970-01-02' })).toEqual({ from: 86_400, to: 172_799 }));
  test('end at an instant', () =>
    expect(spanOf({ from: '1970-01-01T01:00Z', to: '1970-01-01T02:00Z' })).toEqual({ from: 3600, to: 7200 }));
  test('can be open', () => expect(spanOf({ from: '', to: '' })).toEqual({ from: -Infinity, to: Infinity }));
});

describe('two ends are brought', () => {
  const [oldest, newest] = [Date.parse('2026-01-01') / 1000, Date.parse('2026-11-14T21:00Z') / 1000];
  test('into order', () =>
    expect(within({ from: '2026-03-01', to: '2026-02-01' }, oldest, newest, false)).toEqual({
      from: '2026-02-01',
      to: '2026-03-01',
    }));
  test('into the part with values', () =>
    expect(within({ from: '2020-01-01', to: '2030-01-01' }, oldest, newest, true)).toEqual({
      from: '2026-01-01T00:00Z',
      to: '2026-11-14T21:00Z',
    }));
  test('nowhere as long as no values are known', () =>
    expect(within({ from: '2020-01-01', to: '' }, Infinity, 0, false)).toEqual({ from: '2020-01-01', to: '' }));
});

describe('a zoom', () => {
  const times = [10, 20, 30, 40];
  test('shows the points inside', () => expect(zoomTo(times, 15, 35)).toEqual({ from: 20, to: 30 }));
  test('between two points shows both', () => expect(zoomTo(times, 21, 24)).toEqual({ from: 20, to: 30 }));
  test('around one point shows its neighbors', () => expect(zoomTo(times, 19, 21)).toEqual({ from: 10, to: 30 }));
  test('before the first point shows the first two', () => expect(zoomTo(times, 1, 2)).toEqual({ from: 10, to: 20 }));
  test('of a single point shows it', () => expect(zoomTo([10], 1, 20)).toEqual({ from: 10, to: 10 }));
});
