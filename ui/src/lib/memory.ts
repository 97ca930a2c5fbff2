// Memory prices.
import { get, type ResponseBody, type Row } from './api';

export type MemoryType = Row<'/api/memory-types'>;
export type Category = MemoryType['category'];
export type MemoryPrice = Row<'/api/memory/{memoryType}/history'>;
export type MemoryHistory = ResponseBody<'/api/memory/{memoryType}/history'>;

type MemoryIndex = ResponseBody<'/api/memory-index'>;
type LatestPrice = Extract<MemoryIndex['data'], { id: string }>;

export const memoryTypes = () => get('/api/memory-types');

/** A memory type and its newest price; null if there is none, or if the reader may not see it. */
export interface MemoryRow extends MemoryType {
  now: LatestPrice | null;
}

export async function memoryTable(keyed: boolean): Promise<{ date: string | null; rows: MemoryRow[] }> {
  const [types, index] = await Promise.all([memoryTypes(), keyed ? get('/api/memory-index') : null]);
  const prices = new Map([index?.data ?? []].flat().map((price) => [price.id, price]));
  return {
    date: index?.date ?? null,
    rows: types.data.map((type) => ({ ...type, now: prices.get(type.id) ?? null })),
  };
}

/** The whole history of a memory type. Ranges are cut from it. */
export const memoryHistory = (id: string) =>
  get('/api/memory/{memoryType}/history', { path: { memoryType: id }, query: { limit: 10_000 } });
