// Calls ten routes with the types of openapi-typescript and the client that goes with them.
import createClient from 'openapi-fetch';
import type { paths } from './types';
import { expect, setting, several, type Facts } from './facts';

const client = createClient<paths>({
  baseUrl: setting('ASSAY_URL'),
  headers: { Authorization: `Bearer ${setting('ASSAY_KEY')}` },
});

async function read(): Promise<Facts> {
  const range = { startDate: '2026-10-01', endDate: '2026-10-05' };
  const model = { gpuName: 'H100 SXM' };
  const ready = await client.GET('/readyz');
  const types = await client.GET('/api/gpu-types');
  const price = await client.GET('/api/gpu/{gpuName}', { params: { path: model } });
  const prices = await client.GET('/api/gpu-prices');
  const day = await client.GET('/api/daily-index', { params: { query: { gpuType: 'H200', date: '2026-10-30' } } });
  const history = await client.GET('/api/gpu/{gpuName}/index-history', { params: { path: model, query: range } });
  const hours = await client.GET('/api/gpu/{gpuName}/hourly', { params: { path: model, query: range } });
  const memory = await client.GET('/api/memory-index', { params: { query: { category: 'dram' } } });
  const tokens = await client.GET('/api/otpi', { params: { query: { lab: 'openai', ...range } } });
  const sites = await client.GET('/api/neocloud/sites', { params: { query: { country: 'Norway', limit: 5 } } });
  const unknown = await client.GET('/api/gpu/{gpuName}', { params: { path: { gpuName: 'A model of tomorrow' } } });
  return {
    status: expect(ready.data, ready.error).status,
    models: expect(types.data, types.error).data.map((row) => row.gpu_name),
    price: expect(price.data, price.error).data.index_value,
    prices: expect(prices.data, prices.error).count,
    day: expect(day.data, day.error).data.date,
    history: expect(history.data, history.error).data.map((row) => [row.timestamp, row.index_value]),
    hours: expect(hours.data, hours.error).count,
    memory: several(expect(memory.data, memory.error).data).map((row) => row.id),
    tokens: expect(tokens.data, tokens.error).data.map((row) => [row.date, row.indexPerMtok]),
    sites: expect(sites.data, sites.error).sites.map((site) => site.key_customer),
    unknown: unknown.error?.code ?? 'no error',
  };
}

void read().then((facts) => console.log(JSON.stringify(facts)));
