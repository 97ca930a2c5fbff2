import { describe, expect, test } from 'vitest';
import { checkpointOf, fixingsAround, lateFamilies, nodeFacts, verdictOf, type NodeHealth } from './status';

const fresh = (age: number | null) => ({
  latest: age === null ? null : new Date(Date.parse('2026-11-14T21:20:00Z') - age * 1000).toISOString(),
  age_seconds: age,
});
const day = 86_400;
const healthy: Extract<NodeHealth, { status: 'healthy' }> = {
  status: 'healthy',
  timestamp: '2026-11-14T21:20:00.000Z',
  database: 'connected',
  role: 'all',
  age_seconds: 0,
  publishing: 'current',
  version: '1.2.3',
  commit: '1a2b3c4d5e6f7890',
  schema: 36,
  limits: { mode: 'local', fallbacks: 0, shared: 0, alone: 0, late: 0 },
  datasets: {
    gpu: fresh(1200),
    memory: fresh(1200),
    models: fresh(2 * day),
    coding: fresh(2 * day),
    sites: fresh(90 * day),
  },
};
const sick = (status: 'unhealthy' | 'starting' | 'draining', age_seconds = 0) =>
  ({
    ...healthy,
    error: 'Service unavailable',
    message: '',
    code: 'unavailable',
    request_id: 'r',
    status,
    age_seconds,
  }) as NodeHealth;

describe('the state of everything', () => {
  const f = (health: NodeHealth | undefined, want: string, tone: string, ready = true) => {
    const got = verdictOf({ health, ready });
    expect(`${got.tone}: ${got.text}`).toBe(`${tone}: ${want}`);
  };
  const late = (part: Partial<typeof healthy.datasets>) => ({ ...healthy, datasets: { ...healthy.datasets, ...part } });

  test('is current', () => f(healthy, 'Everything is current.', 'good'));
  test('does not wait for what was never there', () =>
    f(late({ memory: fresh(null), coding: fresh(null) }), 'Everything is current.', 'good'));
  test('says what is late, and since when', () => {
    f(late({ gpu: fresh(3 * 3600) }), 'GPU prices have been late since 2026-11-14 18:20 UTC.', 'late');
    f(late({ memory: fresh(5 * day) }), 'Memory has been late since 2026-11-09 21:20 UTC.', 'late');
    f(
      late({ memory: fresh(5 * day), coding: fresh(6 * day) }),
      'Memory and coding have been late since 2026-11-08 21:20 UTC.',
      'late',
    );
    expect(lateFamilies(late({ gpu: fresh(7201), memory: fresh(3 * day), sites: fresh(900 * day) }))).toEqual(['gpu']);
  });
  test('says what publishing waits for', () => {
    f({ ...healthy, publishing: 'held' }, 'Publishing has been held back since 2026-11-14 21:00 UTC.', 'late');
    f({ ...healthy, publishing: 'failing' }, 'Publishing has failed since 2026-11-14 21:00 UTC.', 'bad');
    f({ ...healthy, publishing: 'late' }, 'GPU prices have been late since 2026-11-14 21:00 UTC.', 'late');
    expect(
      verdictOf({ health: { ...healthy, publishing: 'held', publishing_reason: 'The clock.' }, ready: true }).why,
    ).toBe('The clock.');
  });
  test('says how the node is', () => {
    f(sick('unhealthy', 600), 'The database has been unreachable since 2026-11-14 21:10 UTC.', 'bad');
    f(sick('starting'), 'This node is starting.', 'late');
    f(sick('draining'), 'This node is shutting down.', 'late');
    f(healthy, 'This node is not ready for requests.', 'late', false);
    f(undefined, 'The state of the server is unknown.', 'bad');
  });
});

describe('fixings', () => {
  const f = (at: string, last: string, next: string) => {
    const found = fixingsAround(Date.parse(at));
    expect([found.last, found.next].map((t) => new Date(t).toISOString().slice(0, 16))).toEqual([last, next]);
  };
  test('in winter', () => f('2026-11-14T21:20:00Z', '2026-11-14T21:00', '2026-11-15T21:00'));
  test('in summer', () => f('2026-07-01T19:59:59Z', '2026-06-30T20:00', '2026-07-01T20:00'));
  test('at its instant', () => f('2026-07-01T20:00:00Z', '2026-07-01T20:00', '2026-07-02T20:00'));
  test('between 20 and 21 h in winter', () => f('2026-12-01T20:30:00Z', '2026-11-30T21:00', '2026-12-01T21:00'));
  test('when New York sets its clocks back', () => f('2026-10-31T23:00:00Z', '2026-10-31T20:00', '2026-11-01T21:00'));
  test('and forward', () => f('2026-03-08T00:30:00Z', '2026-03-07T21:00', '2026-03-08T20:00'));
});

describe('a checkpoint', () => {
  const text = 'assay/4be1\n462443\nXYbG=\n\n— assay/4be1 1J4m\n— witness.example/w1 AAAA\n';
  test('has a size, a time and witnesses', () =>
    expect(checkpointOf(text, 'Sat, 14 Nov 2026 21:00:02 GMT')).toEqual({
      log: 'assay/4be1',
      size: 462443,
      root: 'XYbG=',
      at: '2026-11-14T21:00:02.000Z',
      witnesses: ['witness.example/w1'],
    }));
  test('may lack the time', () => expect(checkpointOf(text, null)?.at).toBeNull());
  test('is not any text', () => {
    for (const other of ['', '<!doctype html>', 'a\nb\nc\n\n— a x', 'a\n1\nc\nd'])
      expect(checkpointOf(other, null)).toBeNull();
  });
});

test('the facts of a node', () => {
  expect(nodeFacts(healthy)).toEqual([
    ['State', 'healthy'],
    ['Role', 'publishes and serves'],
    ['Database', 'connected'],
    ['Version', '1.2.3 (1a2b3c4d5e6f)'],
    ['Limits', 'counted by this node alone'],
    ['Time of the server', '2026-11-14 21:20:00 UTC'],
  ]);
  expect(nodeFacts({ ...sick('unhealthy', 240), database: 'disconnected' } as NodeHealth)).toContainEqual([
    'Database',
    'disconnected, last response 4 min ago',
  ]);
});
