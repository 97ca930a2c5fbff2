import { expect, test } from 'vitest';
import { seriesOf, type Product } from './coding';

const product: Product = {
  id: 'cc-prs',
  label: 'Claude PRs',
  category: 'prs',
  kind: 'count',
  compare: false,
  seriesLabels: null,
};
const rows = [
  { date: '2026-11-13', value: 10, value2: 7 },
  { date: '2026-11-14', value: 12, value2: 9 },
];
const times = [Date.UTC(2026, 10, 13) / 1000, Date.UTC(2026, 10, 14) / 1000];

test('a product has one series with its label', () =>
  expect(seriesOf(product, rows)).toEqual([{ label: 'Claude PRs', times, values: [10, 12] }]));

test('a comparison has one series per tool', () =>
  expect(seriesOf({ ...product, compare: true, seriesLabels: ['Claude', 'Codex'] }, rows)).toEqual([
    { label: 'Claude', times, values: [10, 12] },
    { label: 'Codex', times, values: [7, 9] },
  ]));
