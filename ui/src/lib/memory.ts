import { get } from './api';
import type { List } from './types';

export type Category = 'dram' | 'flash' | 'module';

export interface MemoryType {
  id: string;
  memory_type: string;
  category: Category;
}

export interface MemoryPrice {
  id: string;
  price: number;
  changePct: number;
  weeklyHigh: number;
  weeklyLow: number;
  sourceUpdatedAt: string;
  date: string;
}

/** A memory type and its newest price; none where the reader may not see it or there is none. */
export interface MemoryRow extends MemoryType {
  now: MemoryPrice | null;
}

export interface MemoryHistory extends List<{ price: number; timestamp: string }> {
  id: string;
  memoryType: string;
}

export async function memoryTable(keyed: boolean): Promise<{ date: string | null; rows: MemoryRow[] }> {
  const [types, index] = await Promise.all([
    get<List<MemoryType>>('/api/memory-types'),
    keyed ? get<List<MemoryPrice> & { date: string }>('/api/memory-index') : null,
  ]);
  const prices = new Map(index?.data.map((price) => [price.id, price]));
  return { date: index?.date ?? null, rows: types.data.map((type) => ({ ...type, now: prices.get(type.id) ?? null })) };
}

/** The whole history of a memory type: ranges are cut from it. */
export const memoryHistory = (id: string) =>
  get<MemoryHistory>(`/api/memory/${encodeURIComponent(id)}/history`, { limit: 10_000 });
