import { beforeEach, describe, expect, test, vi } from 'vitest';
import { stubBrowser } from './browser.testing';
import type { Line } from './series';

let bar: ReturnType<typeof stubBrowser>;

/** Imports the modules with an address in the bar. */
async function at(address: string) {
  bar = stubBrowser(address);
  const [router, view, signin] = await Promise.all([import('./router.svelte'), import('./view'), import('./signin')]);
  return { ...router, ...view, ...signin };
}

beforeEach(() => vi.resetModules());

describe('the router', () => {
  test('changes parameters without adding to the history', async () => {
    const { setParams, address } = await at('/gpu/H200?range=1M&scale=log');
    setParams({ scale: '', region: 'eu-west' });
    expect(address.link).toBe('/gpu/H200?range=1M&region=eu-west');
    expect(bar.pushes).toBe(0);
  });
  test('adds a step to the history', async () => {
    const { setParams, address } = await at('/sites');
    setParams({ country: 'Norway' }, true);
    expect(address.param('country')).toBe('Norway');
    expect(bar.pushes).toBe(1);
  });
  test('navigates to another page', async () => {
    const { go, address } = await at('/');
    go('/memory?filter=ddr5');
    expect(address.path).toBe('/memory');
    expect(address.param('filter')).toBe('ddr5');
    expect(address.param('sort', 'name')).toBe('name');
  });
});

describe('signing in returns to', () => {
  test.each([
    ['/gpu/H200?range=1M', '/signin?next=%2Fgpu%2FH200%3Frange%3D1M'],
    ['/', '/signin'],
    ['/settings', '/signin?next=%2Fsettings'],
  ])('the link from %s', async (address, link) => expect((await at(address)).signInAddress()).toBe(link));
  test.each([
    ['/gpu/H200?range=1M', '/gpu/H200?range=1M'],
    ['/', '/'],
    ['//evil.example', '/'],
    ['/\\evil.example', '/'],
    ['https://evil.example', '/'],
    ['/api/keys', '/'],
    ['', '/'],
  ])('the page %j', async (next, page) =>
    expect((await at(`/signin?next=${encodeURIComponent(next)}`)).nextPage()).toBe(page),
  );
});

describe('the state of a table', () => {
  test('shows the rows in the address that exist', async () =>
    expect((await at('/memory?show=b,x,a,b')).chosenOf(['a', 'b', 'c'], ['c'])).toEqual(['b', 'a']));
  test('shows the default without any', async () =>
    expect((await at('/memory?show=x')).chosenOf(['a', 'b'], ['b'])).toEqual(['b']));
  test('can show none', async () => expect((await at('/memory?show=none')).chosenOf(['a'], ['a'])).toEqual([]));
  test('shows at most one line per color', async () => {
    const ids = [...'abcdefgh'];
    expect((await at(`/memory?show=${ids.join(',')}`)).chosenOf(ids, [])).toHaveLength(6);
  });
  test('adds and removes rows', async () => {
    const { toggle, address } = await at('/memory');
    toggle(['a'], 'b');
    expect(address.param('show')).toBe('a,b');
    toggle(['a'], 'a');
    expect(address.param('show')).toBe('none');
  });
  test('has a range that the reader may see', async () => {
    const { rangeOf } = await at('/memory?range=All');
    expect(rangeOf('3M')).toBe('All');
    expect(rangeOf('3M', (range) => (range === 'All' ? 'locked' : undefined))).toBe('3M');
  });
  test('has no range of a day', async () => expect((await at('/memory?range=1D')).rangeOf('3M')).toBe('3M'));
  test('is sorted', async () => {
    const { sortOf } = await at('/memory?sort=-price');
    expect(sortOf()).toEqual({ key: 'price', descending: true });
  });
  test('filters by all words', async () => {
    const { matches } = await at('/memory');
    expect(matches('ddr5 rdimm', 'DDR5 RDIMM 32GB')).toBe(true);
    expect(matches('ddr5 flash', 'DDR5 RDIMM 32GB', 'Module')).toBe(false);
    expect(matches('', 'anything')).toBe(true);
  });
});

test('lines are cut to a range that ends at the newest of all', async () => {
  const { cut } = await at('/memory');
  const line = (days: number[]): Line => ({
    label: '',
    color: 'series-1',
    times: days.map((day) => day * 86_400),
    values: days,
  });
  expect(cut([line([1, 5, 9]), line([20, 25])], '1W').map((one) => one.values)).toEqual([[], [20, 25]]);
});
