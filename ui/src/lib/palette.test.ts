import { beforeEach, describe, expect, test, vi } from 'vitest';
import { stubBrowser } from './browser.testing';
import type { Entry } from './palette';

/** Imports the module with an address in the bar, which it reaches through others. */
async function palette() {
  stubBrowser('/');
  return import('./palette');
}

beforeEach(() => vi.resetModules());

describe('the palette', () => {
  test('finds every word, the best match first', async () => {
    const { search } = await palette();
    const entries: Entry[] = [
      { label: 'Prices of the H100', group: 'API', words: 'GET /api/gpu' },
      { label: 'GH100 board', group: 'Memory' },
      { label: 'Notes', group: 'API', words: 'h100' },
      { label: 'H100 SXM', group: 'GPU' },
      { label: 'H100', group: 'GPU' },
      { label: 'Memory', group: 'Page', words: 'dram' },
    ];
    const f = (query: string, ...want: string[]) =>
      expect(
        search(entries, query).map(({ label }) => label),
        query,
      ).toEqual(want);
    f('h100', 'H100', 'H100 SXM', 'Prices of the H100', 'GH100 board', 'Notes');
    f('  H100  sxm ', 'H100 SXM');
    f('sxm h100', 'H100 SXM');
    f('gpu h100', 'Prices of the H100', 'H100 SXM', 'H100'); // all by other words, so they keep their order
    f('dram', 'Memory');
    f('h100 dram');
  });

  test('shows no more than fit', async () => {
    const { mostShown, search } = await palette();
    const entries = Array.from({ length: 100 }, (_, i) => ({ label: `Entry ${i}`, group: 'Page' }));
    expect(search(entries, 'entry')).toHaveLength(mostShown);
    expect(search(entries, '')).toHaveLength(mostShown);
  });

  test('leads to what the catalogs name, and marks what is locked', async () => {
    const { catalogEntries } = await palette();
    const catalogs = {
      gpus: [
        { name: 'H100 SXM', free: true },
        { name: 'A/B & C', free: false },
      ],
      memory: [{ id: 'mem_ddr5_16gb', label: 'DDR5 16Gb' }],
      labs: [{ id: 'openai', label: 'OpenAI', free: true }],
      coding: [{ id: 'cc-prs', label: 'Claude PRs' }],
    };
    const all = catalogEntries(catalogs, true);
    expect(all.map(({ href }) => href)).toEqual([
      '/gpu/H100%20SXM',
      '/gpu/A%2FB%20%26%20C',
      '/memory?show=mem_ddr5_16gb',
      '/tokens?show=openai',
      '/workload?lab=openai',
      '/coding?show=cc-prs',
    ]);
    expect(all.filter(({ locked }) => locked === undefined).map(({ label }) => label)).toEqual(['H100 SXM', 'OpenAI']);
    expect(catalogEntries(catalogs, false).every(({ locked }) => locked === undefined)).toBe(true);
  });
});
