import { get } from './api';
import type { List } from './types';

export interface Product {
  id: string;
  label: string;
  category: 'prs' | 'commits' | 'merge';
  kind: 'count' | 'pct';
  compare: boolean;
  seriesLabels: [string, string] | null;
}

/** The values of one tool, by day. */
export interface Series {
  label: string;
  times: number[];
  values: number[];
}

/** A product and its values: one series, or two where it compares tools; none where the reader may not see them. */
export interface ProductValues extends Product {
  series: Series[] | null;
}

interface CodingHistory extends List<{ date: string; value: number; value2?: number }> {
  product: string;
}

export async function productValues(keyed: boolean): Promise<ProductValues[]> {
  const products = (await get<List<Product>>('/api/llm-coding/products')).data;
  if (!keyed) return products.map((product) => ({ ...product, series: null }));
  return Promise.all(
    products.map(async (product) => {
      const history = await get<CodingHistory>('/api/llm-coding/history', { product: product.id, limit: 10_000 });
      const times = history.data.map((row) => Date.parse(row.date) / 1000);
      const first = {
        label: product.seriesLabels?.[0] ?? product.label,
        times,
        values: history.data.map((row) => row.value),
      };
      if (!product.seriesLabels) return { ...product, series: [first] };
      return {
        ...product,
        series: [first, { label: product.seriesLabels[1], times, values: history.data.map((row) => row.value2 ?? 0) }],
      };
    }),
  );
}
