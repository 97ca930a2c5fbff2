// Token prices.
import { get, type Row } from './api';

export type Lab = Row<'/api/token-types'>;

export const labs = () => get('/api/token-types');
export const freeLabs = () => get('/api/token-types-free');

/** A lab and all of its prices that the reader may see; null for a lab that needs a key. */
export interface LabPrices extends Lab {
  prices: { times: number[]; values: number[] } | null;
}

/** Reads the prices of all labs in one request: with a key all there are, without one the free window of the free labs. */
export async function labPrices(keyed: boolean): Promise<LabPrices[]> {
  // A range needs one end at least; without any, the API responds with a single day.
  const query = keyed ? { startDate: '2000-01-01' } : { endDate: '2999-12-31' };
  const [all, free, prices] = await Promise.all([labs(), freeLabs(), get('/api/otpi', { query })]);
  const isFree = new Set(free.data.map((lab) => lab.lab));
  const byLab = new Map(all.data.map((lab) => [lab.lab, { times: [] as number[], values: [] as number[] }]));
  for (const row of prices.data) {
    const lab = byLab.get(row.lab);
    lab?.times.push(Date.parse(row.date) / 1000);
    lab?.values.push(row.indexPerMtok);
  }
  return all.data.map((lab) => ({ ...lab, prices: keyed || isFree.has(lab.lab) ? byLab.get(lab.lab)! : null }));
}
