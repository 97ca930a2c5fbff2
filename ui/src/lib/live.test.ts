import { describe, expect, test, vi } from 'vitest';
import { stubBrowser } from './browser.testing';

stubBrowser('/');
vi.stubGlobal('document', { addEventListener: () => undefined, visibilityState: 'visible' });
const { filtersOf } = await import('./live.svelte');

describe('a stream has what all parts of a page follow, and no more', () => {
  const f = (name: string, interests: Parameters<typeof filtersOf>[0], want: string) =>
    test(name, () => expect(filtersOf(interests)).toBe(want));
  f('nothing', [], '');
  f(
    'one part',
    [{ events: ['day'], gpus: ['H100 SXM'], region: 'global' }],
    'family=gpu&event=day&gpu=H100+SXM&region=global',
  );
  f(
    'two parts',
    [
      { events: ['print'], gpus: ['H200'], region: 'us-east' },
      { events: ['hour', 'print'], gpus: ['B200', 'H200'], region: 'us-east' },
    ],
    'family=gpu&event=hour&event=print&gpu=B200&gpu=H200&region=us-east',
  );
  f('another family', [{ family: 'memory', events: ['observation'] }], 'family=memory&event=observation');
  f(
    'a family beside GPU models, which the filters of GPU models would leave out',
    [
      { events: ['day'], gpus: ['H200'], region: 'global' },
      { family: 'models', events: ['observation'] },
    ],
    'family=gpu&family=models&event=day&event=observation',
  );
  f(
    'a part that names no GPU model follows all',
    [
      { events: ['day'], gpus: ['H200'], region: 'global' },
      { events: ['day'], gpus: [], region: 'global' },
    ],
    'family=gpu&event=day&region=global',
  );
});
