// Coding metrics: pull requests, commits and merge rates of coding tools.
import { get, type Row } from './api';

export type Product = Row<'/api/llm-coding/products'>;

export const codingProducts = () => get('/api/llm-coding/products');

/** The values of one tool, by day. */
export interface Series {
  label: string;
  times: number[];
  values: number[];
}

/** A product and its values: one series, or two if it compares tools; null if the reader may not see them. */
export interface ProductValues extends Product {
  series: Series[] | null;
}

export async function productValues(keyed: boolean): Promise<ProductValues[]> {
  const products = (await codingProducts()).data;
  if (!keyed) return products.map((product) => ({ ...product, series: null }));
  return Promise.all(
    products.map(async (product) => {
      const query = { product: product.id, limit: 10_000 };
      const history = await get('/api/llm-coding/history', { query });
      return { ...product, series: seriesOf(product, history.data) };
    }),
  );
}

/** Splits the rows of a product into one series per tool. */
export function seriesOf(product: Product, rows: Row<'/api/llm-coding/history'>[]): Series[] {
  const times = rows.map((row) => Date.parse(row.date) / 1000);
  const [first = product.label, second] = product.seriesLabels ?? [];
  const series = [{ label: first, times, values: rows.map((row) => row.value) }];
  if (second !== undefined) series.push({ label: second, times, values: rows.map((row) => row.value2 ?? 0) });
  return series;
}
