// Not run: the compiler must accept these lines, and must find each mistake that is marked.
import {
  Client,
  type DailyIndex,
  type GpuPrice,
  type IndexPoint,
  type MemoryPrice,
  type ResponseOf,
} from '@assaydata/client';
import type {
  ArgumentsOf,
  CodingHistoryOptions,
  HistoryOptions,
  RouteName,
  Site,
  StreamEvent,
  TokenPrice,
} from '@assaydata/client';
import type { paths } from '../dist/generated/api.js';
import type { routes } from '../dist/routes.js';

const assay = new Client('https://data.example.com', { key: 'k', timeout: 5000, cache: { entries: 10 } });

export async function responses(): Promise<void> {
  const price: GpuPrice = (await assay.gpuPrice('H100 SXM')).data;
  const value: number = price.index_value;
  const points: IndexPoint[] = (await assay.indexHistory('H100 SXM')).data;
  const day: DailyIndex = (await assay.dailyIndex()).data;
  const one: MemoryPrice = (await assay.memoryIndex({ type: 'mem_ddr5_16gb' })).data;
  const several: MemoryPrice[] = (await assay.memoryIndex({ category: 'dram' })).data;
  const sites: Site[] = (await assay.sites({ country: 'US' })).sites;
  const tokens: TokenPrice[] = (await assay.otpi()).data;
  const customer: string | null | undefined = sites[0]?.key_customer;
  for await (const point of assay.eachPoint('H200')) point.index_value.toFixed();
  await assay.table('indexHistory', 'csv', 'H100 SXM', { limit: 3 });
  console.log(value, points, day, one, several, tokens, customer);

  // @ts-expect-error a price is a number
  const text: string = price.index_value;
  // @ts-expect-error a row has no such field
  console.log(points[0]?.price);
  // @ts-expect-error the rows of sites are in sites
  console.log((await assay.sites()).data);
  console.log(text);
}

export async function mistakes(): Promise<void> {
  // @ts-expect-error the GPU model is missing
  await assay.gpuPrice();
  // @ts-expect-error the range is missing
  await assay.volatility('H200', { startDate: '2026-10-01' });
  // @ts-expect-error the API's name of asOf
  await assay.gpuPrice('H200', { as_of: '2026-10-01' });
  // @ts-expect-error hours have one granularity
  await assay.hourlyHistory('H200', { granularity: 'daily' });
  // @ts-expect-error no such granularity
  await assay.indexHistory('H200', { granularity: 'weekly' });
  // @ts-expect-error a number of milliseconds is no instant
  await assay.indexHistory('H200', { startDate: 1_700_000_000_000 });
  // @ts-expect-error no table of a proof
  await assay.table('determination', 'csv', 'H200');
  // @ts-expect-error no such format
  await assay.table('gpuPrices', 'xlsx');
  // @ts-expect-error the arguments are those of the method
  await assay.table('gpuPrice', 'csv', { region: 'us-east' });
  // @ts-expect-error misspelled option of the client
  new Client('http://x', { apiKey: 'k' });
}

/** Words grow: what is known is completed, anything else fits. */
export function words(price: GpuPrice, body: ResponseOf<'gpuPrice'>): void {
  price.gpu_name = 'H100 SXM';
  price.gpu_name = 'a model of next year';
  body.access = 'premium';
  body.access = 'a plan of next year';
  // @ts-expect-error but only text
  body.access = 5;
}

export function events(event: StreamEvent): string | undefined {
  if (event.event === 'gap') return event.data.catch_up;
  if (event.event === 'hour') return event.data.timestamp;
  return undefined;
}

/** The options of each route are the parameters that the API description has for it, required ones included. */
type QueryOf<Path extends keyof paths> = paths[Path] extends { get: { parameters: { query?: infer Query } } }
  ? NonNullable<Query>
  : never;
type OptionsOf<Name extends RouteName> = NonNullable<Extract<ArgumentsOf<Name>[number], object>>;
type Required<Options> = { [K in keyof Options]-?: undefined extends Options[K] ? never : K }[keyof Options];
type RequiredQuery<Name extends RouteName> = [QueryOf<(typeof routes)[Name]['path']>] extends [never]
  ? never
  : Required<QueryOf<(typeof routes)[Name]['path']>>;
type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : never) : never;

export const optionNames: {
  [Name in RouteName]: Same<keyof OptionsOf<Name>, keyof (typeof routes)[Name]['query'] | 'signal'>;
} = {} as Record<RouteName, true>;
export const requiredOptions: { [Name in RouteName]: Same<Required<OptionsOf<Name>>, RequiredQuery<Name>> } =
  {} as Record<RouteName, true>;

/** The words that an option takes are those of the API description. */
type Granularity = NonNullable<QueryOf<'/api/gpu/{gpuName}/index-history'>['granularity']>;
export const granularity: Same<NonNullable<HistoryOptions['granularity']>, Granularity> = true;
type Order = NonNullable<QueryOf<'/api/llm-coding/history'>['order']>;
export const order: Same<NonNullable<CodingHistoryOptions['order']>, Order> = true;
