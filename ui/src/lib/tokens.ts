import { get } from './api';
import type { List } from './types';

export interface Lab {
  lab: string;
  label: string;
}

export const labs = () => get<List<Lab>>('/api/token-types');
const freeLabs = () => get<List<Lab>>('/api/token-types-free');

interface TokenPrices extends List<{ date: string; lab: string; indexPerMtok: number }> {}

/** A lab and all its prices that the reader may see; null for a lab that a key is needed for. */
export interface LabPrices extends Lab {
  prices: { times: number[]; values: number[] } | null;
}

/** The prices of all labs with one question: with a key all there are, without one the free window of the free labs. */
export async function labPrices(keyed: boolean): Promise<LabPrices[]> {
  // A range without a start is the whole window of the reader; one of its ends must be named, else it is a single day.
  const range = keyed ? { startDate: '2000-01-01' } : { endDate: '2999-12-31' };
  const [all, free, prices] = await Promise.all([labs(), freeLabs(), get<TokenPrices>('/api/otpi', range)]);
  const isFree = new Set(free.data.map((lab) => lab.lab));
  const byLab = new Map(all.data.map((lab) => [lab.lab, { times: [] as number[], values: [] as number[] }]));
  for (const row of prices.data) {
    const lab = byLab.get(row.lab);
    lab?.times.push(Date.parse(row.date) / 1000);
    lab?.values.push(row.indexPerMtok);
  }
  return all.data.map((lab) => ({ ...lab, prices: keyed || isFree.has(lab.lab) ? byLab.get(lab.lab)! : null }));
}
