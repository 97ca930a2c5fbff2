// Calls ten routes with the client that hey-api generates.
import { client } from './hey/client.gen';
import {
  getDailyIndex,
  getGpuPrice,
  getHourlyHistory,
  getIndexHistory,
  getMemoryIndex,
  getOtpi,
  getReadiness,
  listGpuPrices,
  listGpuTypes,
  listSites,
} from './hey';
import { expect, setting, several, type Facts } from './facts';

client.setConfig({ baseUrl: setting('ASSAY_URL'), auth: setting('ASSAY_KEY') });

async function read(): Promise<Facts> {
  const query = { startDate: '2026-10-01', endDate: '2026-10-05' };
  const path = { gpuName: 'H100 SXM' };
  const ready = await getReadiness();
  const types = await listGpuTypes();
  const price = await getGpuPrice({ path });
  const prices = await listGpuPrices();
  const day = await getDailyIndex({ query: { gpuType: 'H200', date: '2026-10-30' } });
  const history = await getIndexHistory({ path, query });
  const hours = await getHourlyHistory({ path, query });
  const memory = await getMemoryIndex({ query: { category: 'dram' } });
  const tokens = await getOtpi({ query: { lab: 'openai', ...query } });
  const sites = await listSites({ query: { country: 'Norway', limit: 5 } });
  const unknown = await getGpuPrice({ path: { gpuName: 'A model of tomorrow' } });
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
