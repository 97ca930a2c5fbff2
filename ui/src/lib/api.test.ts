import { beforeEach, describe, expect, test, vi } from 'vitest';
import { addressOf, ApiError, clearCache, get, send } from './api';

const respond = (body: unknown, init: ResponseInit = {}) => vi.fn(async () => Response.json(body, init));

beforeEach(() => clearCache());

describe('addresses', () => {
  test('encode the path and leave out empty parameters', () =>
    expect(
      addressOf('/api/gpu/{gpuName}/index-history', {
        path: { gpuName: 'RTX PRO 6000/WS' },
        query: { region: '', startDate: undefined, granularity: 'hourly' },
      }),
    ).toBe('/api/gpu/RTX%20PRO%206000%2FWS/index-history?granularity=hourly'));
  test('without parameters', () => expect(addressOf('/api/regions')).toBe('/api/regions'));
});

describe('get', () => {
  test('sends the same request once within a minute', async () => {
    const fetch = respond({ count: 0, data: [] });
    vi.stubGlobal('fetch', fetch);
    await Promise.all([get('/api/regions'), get('/api/regions')]);
    await get('/api/regions');
    expect(fetch).toHaveBeenCalledTimes(1);
  });
  test('reads again after a change to the path', async () => {
    const fetch = respond({ count: 0, data: [] });
    vi.stubGlobal('fetch', fetch);
    await get('/api/keys');
    await get('/api/regions');
    clearCache('/api/keys');
    await get('/api/keys');
    await get('/api/regions');
    expect(fetch).toHaveBeenCalledTimes(3);
  });
  test('does not cache an error', async () => {
    vi.stubGlobal('fetch', respond({ message: 'No data.', code: 'no_data' }, { status: 404 }));
    await expect(get('/api/regions')).rejects.toThrow('No data.');
    const fetch = respond({ count: 1, data: [{ region: 'eu-west' }] });
    vi.stubGlobal('fetch', fetch);
    expect((await get('/api/regions')).data).toEqual([{ region: 'eu-west' }]);
  });
});

describe('errors', () => {
  test('carry what the API said', async () => {
    const body = { error: 'Too many requests', message: 'Slow down.', code: 'rate_limited', request_id: 'abc' };
    vi.stubGlobal('fetch', respond(body, { status: 429, headers: { 'Retry-After': '7' } }));
    const error = await get('/api/regions').catch(ApiError.from);
    expect(error).toMatchObject({
      message: 'Slow down.',
      status: 429,
      code: 'rate_limited',
      requestID: 'abc',
      retryAfter: 7,
    });
  });
  test('without a JSON body name the status', async () => {
    vi.stubGlobal('fetch', async () => new Response('bad gateway', { status: 502 }));
    await expect(get('/api/regions')).rejects.toThrow('The server responded with status 502.');
  });
  test('of the network have no status', async () => {
    vi.stubGlobal('fetch', async () => Promise.reject(new TypeError('failed')));
    await expect(get('/api/regions')).rejects.toMatchObject({ status: 0, code: 'unreachable' });
  });
});

test('a change is sent as JSON', async () => {
  const fetch = vi.fn<(url: string, init: RequestInit) => Promise<Response>>(async () =>
    Response.json({ success: true }),
  );
  vi.stubGlobal('fetch', fetch);
  await send('post', '/api/keys/{id}/rotate', { grace_hours: 24 }, { path: { id: '4fQz8K' } });
  const [url, init] = fetch.mock.calls[0]!;
  expect(url).toBe('/api/keys/4fQz8K/rotate');
  expect(init).toMatchObject({ method: 'POST', body: '{"grace_hours":24}', credentials: 'same-origin' });
});
