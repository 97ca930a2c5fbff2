import type { paths } from './generated/api.js';
import type { RouteName, routes } from './routes.js';

/** The body of a route's response, as the API description has it. */
type BodyOf<Path extends keyof paths> = paths[Path] extends {
  get: { responses: { 200: { content: { 'application/json': infer Body } } } };
}
  ? Body
  : never;

/** The response of the method with this name: the JSON that the API sends. */
export type ResponseOf<Name extends RouteName> = BodyOf<(typeof routes)[Name]['path']>;

/** The rows of a response, or its one record. */
type DataOf<Name extends RouteName> = ResponseOf<Name> extends { data: infer Data } ? Data : never;
type RowOf<Name extends RouteName> = DataOf<Name> extends readonly (infer Row)[] ? Row : never;

/** The state of the service. While it is not healthy, the same route responds with `Unhealthy`. */
export type Health = ResponseOf<'health'>;
export type Unhealthy = paths['/health']['get']['responses'][503]['content']['application/json'];

/** Entries of the catalogs. */
export type GpuType = RowOf<'gpuTypes'>;
export type Region = RowOf<'regions'>;
export type TokenType = RowOf<'tokenTypes'>;
export type MemoryType = RowOf<'memoryTypes'>;
export type CodingProduct = RowOf<'codingProducts'>;

/** The current price of a GPU model. */
export type GpuPrice = DataOf<'gpuPrice'>;
/** The value of one day. */
export type DailyIndex = DataOf<'dailyIndex'>;
/** A point of a series. */
export type IndexPoint = RowOf<'indexHistory'>;
/** The record nearest to an instant. */
export type NearestValue = DataOf<'nearestValue'>;
/** A point with the statistics of its window. */
export type HistoryRangeRow = RowOf<'historyRange'>;
/** A value of the current hours, minute by minute. */
export type RealtimePoint = RowOf<'realtime'>;
/** A mean of 24 hours. */
export type RollingAverage = RowOf<'rollingAverageHistory'>;
/** A point with its volatility. */
export type VolatilityRow = RowOf<'volatility'>;
/** How much of the tracked capacity was rented. */
export type VolumeRow = RowOf<'volumeMetrics'>;
/** The utilization of a GPU model, now and on average. */
export type GpuUtilization = RowOf<'gpuUtilization'>;

/** The newest price of a memory type. */
export type MemoryPrice = Exclude<DataOf<'memoryIndex'>, readonly unknown[]>;
/** The price of a memory type on one day. */
export type MemoryHistoryRow = RowOf<'memoryHistory'>;
/** The newest value of a coding product. */
export type CodingValue = DataOf<'codingIndex'>;
/** The value of a coding product on one day. */
export type CodingPoint = RowOf<'codingHistory'>;
/** The price of a lab's tokens on one day. */
export type TokenPrice = RowOf<'otpi'>;
/** What a lab's requests cost on one day, and why that changed. */
export type WorkloadRow = RowOf<'workload'>;

/** How a value of a GPU model was determined. */
export type Determination = DataOf<'determination'>;
/** How a value of another index was determined. */
export type ValueDetermination = DataOf<'valueDetermination'>;
/** A published value that was restated. */
export type Correction = RowOf<'corrections'>;
/** A restated row of another family. */
export type FamilyCorrection = RowOf<'familyCorrections'>;
/** A file of a complete month. */
export type BulkFile = RowOf<'bulk'>;
/** The rules from a certain moment on. */
export type Methodology = RowOf<'methodology'>;
/** A message of the publisher. */
export type Notice = RowOf<'notices'>;
/** The newest publication. */
export type Publication = DataOf<'latestPublication'>;
/** That the log lists a record. */
export type InclusionProof = DataOf<'logInclusion'>;
/** That the log only grew. */
export type ConsistencyProof = DataOf<'logConsistency'>;

/** A data-center site. */
export type Site = ResponseOf<'sites'>['sites'][number];
/** The sites of a country, or those with a GPU model. */
export type SiteBucket = RowOf<'sitesAggregate'>;
/** The sites as GeoJSON. */
export type SiteMap = DataOf<'sitesMap'>;

/** The response of `memoryIndex` for one type, and for several. */
export type MemoryPriceResponse = Omit<ResponseOf<'memoryIndex'>, 'data'> & { data: MemoryPrice };
export type MemoryPricesResponse = Omit<ResponseOf<'memoryIndex'>, 'data'> & { data: MemoryPrice[] };
