import { describe as group, expect, test } from 'vitest';
import { describe, embedCode, pastes, rangeOf, statusReason, type ShareLink } from './share';

const link = (given: Partial<ShareLink>) =>
  ({
    family: 'gpu',
    series: 'H200',
    region: 'global',
    granularity: 'daily',
    range: '3m',
    status: 'active',
    ...given,
  }) as ShareLink;

group('what a link shows', () => {
  const f = (given: Partial<ShareLink>, want: string) => test(want, () => expect(describe(link(given))).toBe(want));
  f({}, 'GPU prices: H200, daily, 3 months');
  f({ region: 'us-east', granularity: 'hourly', range: '7d' }, 'GPU prices: H200 in us-east, hourly, 7 days');
  f({ family: 'memory', series: 'ddr5-16gb', range: 'all' }, 'Memory prices: ddr5-16gb, daily, everything');
});

test('a link that shows all has nothing to explain', () => {
  expect(statusReason(link({}))).toBe('');
  expect(statusReason(link({ status: 'reduced' }))).toContain('free window');
  expect(statusReason(link({ status: 'no_access' }))).toContain('403');
});

test('what to paste holds the address, and the name as each language writes it', () => {
  const paths = { csv: '/s/shl_a.csv', json: '/s/shl_a.json', svg: '/s/shl_a.svg', png: '/s/shl_a.png' };
  const made = pastes('https://data.example.com', { paths, data: link({ series: 'A"[1]<b>' }) });
  expect(Object.fromEntries(made.map(({ label, text }) => [label, text]))).toEqual({
    'Google Sheets': '=IMPORTDATA("https://data.example.com/s/shl_a.csv")',
    'Excel: Data → From Web': 'https://data.example.com/s/shl_a.csv',
    'Badge in Markdown': String.raw`![A"\[1\]<b>](https://data.example.com/s/shl_a.svg?style=badge)`,
    'Chart in HTML': '<img src="https://data.example.com/s/shl_a.svg" alt="A&quot;[1]&lt;b>">',
    JSON: 'https://data.example.com/s/shl_a.json',
  });
});

test('an embedded chart shows no more than the free window', () => {
  const code = embedCode('https://data.example.com', 'H100 SXM', 'us-east', 'all');
  expect(code).toContain('src="https://data.example.com/embed/gpu/H100%20SXM?range=3m&amp;region=us-east"');
  expect(embedCode('', 'H200', '', '7d')).toContain('src="/embed/gpu/H200?range=7d"');
});

group('the range of a chart as the range of a link', () => {
  for (const [shown, want] of [
    ['1D', '7d'],
    ['1W', '7d'],
    ['YTD', '1y'],
    ['All', 'all'],
    ['', '3m'],
  ] as const)
    test(`${shown || 'chosen days'}: ${want}`, () => expect(rangeOf(shown)).toBe(want));
});
