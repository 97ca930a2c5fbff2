import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Client, StreamEvent, StreamOptions } from '@assaydata/client';
import { failure } from '../harness.js';
import { demoClient, keys } from './demo.js';

/** The first event of a stream. */
async function first(client: Client, options: StreamOptions = {}): Promise<StreamEvent> {
  for await (const event of client.stream(options)) return event;
  throw new Error('the stream has no event');
}

describe('the stream of the program', () => {
  const access = (name: string, key: string, want: string) =>
    test(`begins with hello ${name}`, async () => {
      const event = await first(demoClient({ key }));
      assert.ok(event.event === 'hello');
      assert.equal(event.data.access, want);
      assert.ok((event.data.heartbeat_seconds ?? 0) > 0);
    });
  access('without a key', '', 'public-3mo');
  access('with a Premium key', keys.premium, 'premium');
  access('with a Full key', keys.full, 'full');

  test('continues after an event', async () => {
    const options = { event: ['day', 'hour'], family: 'gpu', gpu: ['H100 SXM', 'H200'], region: 'global' };
    const { id } = await first(demoClient(), options);
    const event = await first(demoClient(), { ...options, lastEventId: id });
    assert.equal(event.event, 'hello');
    assert.equal(event.data['resumed'], true);
  });

  test('has a gap after an id that it does not know', async () => {
    const event = await first(demoClient(), { lastEventId: '1-unknown' });
    assert.ok(event.event === 'gap');
    assert.equal(event.data.reason, 'unknown_id');
    assert.match(event.data.catch_up ?? '', /^\/api\//);
  });

  const refused = (name: string, kind: string, code: string, options: StreamOptions, key: string) =>
    test(`refuses ${name}`, async () => {
      const error = await failure(first(demoClient({ key }), options));
      assert.deepEqual([error.kind, error.code], [kind, code]);
    });
  refused('a revoked key', 'unauthorized', 'inactive_key', {}, keys.revoked);
  refused('hours without a key', 'unauthorized', 'key_required', { event: 'hour' }, '');
  refused('hours with a Premium key', 'forbidden', 'full_required', { event: 'hour' }, keys.premium);
  refused('an unknown event', 'invalid', 'invalid_parameter', { event: 'eclipse' }, keys.full);
  refused('an unknown GPU model', 'invalid', 'unknown_gpu', { gpu: 'X900' }, keys.full);
  refused('an unknown region', 'not_found', 'unknown_region', { region: 'moon' }, keys.full);
});
