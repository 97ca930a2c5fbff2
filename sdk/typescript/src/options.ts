// What the methods take besides the names in their paths. The tests compare these types with the API description.

/**
 * A day or an instant: `2026-10-31`, `2026-10-31T20:00:00Z`, `2026-10-31 20:00:00`, or a `Date`. Text without a zone is
 * UTC.
 */
export type When = string | Date;

/** What every method takes. */
export interface CallOptions {
  /** Cancels the request, its retries and what is still to come: the call then rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
}

export interface AsOfOption {
  /** Reads what was published by this moment. */
  asOf?: When | undefined;
}

export interface PlaceOptions extends CallOptions, AsOfOption {
  /** A region of `regions()`. Without it, the index over all regions. */
  region?: string | undefined;
}

export interface RangeOptions {
  /** The first moment, inclusive. Without it, what the route says: mostly the first value that you may read. */
  startDate?: When | undefined;
  /** The last moment, inclusive; a day includes its fixing. Without it, now. */
  endDate?: When | undefined;
}

export interface RowOptions {
  /** The order of the rows by time. */
  order?: 'asc' | 'desc' | undefined;
  /** How many rows to keep from the beginning. `has_more` says whether that left any out. */
  limit?: number | undefined;
}

export interface GrainOption {
  /** Only a Full key gets anything but `daily`. The response says what was served. */
  granularity?: 'daily' | 'hourly' | 'auto' | undefined;
}

export interface DailyIndexOptions extends PlaceOptions {
  /** Exact name of a GPU model. Without it, `H100 SXM`. */
  gpuType?: string | undefined;
  /** The day. Without it, the latest one. */
  date?: When | undefined;
}

export type DailyIndexAllOptions = Omit<DailyIndexOptions, 'gpuType'>;

export interface HistoryOptions extends PlaceOptions, RangeOptions, RowOptions, GrainOption {}

export type HourlyOptions = Omit<HistoryOptions, 'granularity'>;

export interface NearestValueOptions extends PlaceOptions {
  /** The instant to look near. */
  datetime: When;
}

export interface RealtimeOptions extends PlaceOptions {
  /** How many minutes back from now, or from `asOf`: 1 to 1440, 60 unless given. */
  minutes?: number | undefined;
  order?: 'asc' | 'desc' | undefined;
}

export interface VolatilityOptions extends HistoryOptions {
  startDate: When;
  endDate: When;
  /** How many returns each row covers: 1 to 365, 30 unless given. */
  windowDays?: number | undefined;
}

export interface VolumeOptions extends HistoryOptions {
  /** Includes the running day or hour. Its row then has `partial`. */
  partial?: boolean | undefined;
}

export interface MemoryIndexOptions extends CallOptions, AsOfOption {
  /** Id or exact name of a memory type. The response then has one record instead of several. */
  type?: string | undefined;
  category?: 'dram' | 'flash' | 'module' | undefined;
}

export interface SeriesOptions extends CallOptions, AsOfOption, RangeOptions, RowOptions {}

export interface CodingIndexOptions extends CallOptions, AsOfOption {
  /** Id of a product in `codingProducts()`. */
  product: string;
}

export interface CodingHistoryOptions extends SeriesOptions {
  /** Id of a product in `codingProducts()`. */
  product: string;
}

export interface OffsetOption {
  /** How many rows to skip. */
  offset?: number | undefined;
}

export interface OtpiOptions extends SeriesOptions, OffsetOption {
  /** A lab of `tokenTypes()`. Without it, all that you may read. */
  lab?: string | undefined;
  /** One day. Not together with `startDate` and `endDate`. */
  date?: When | undefined;
}

export interface WorkloadOptions extends SeriesOptions, OffsetOption {
  lab?: string | undefined;
  /** A class of the lab's models; `all` is the lab as a whole. */
  family?: string | undefined;
  /** The days over which a row averages: 7 unless given. */
  windowDays?: 1 | 7 | undefined;
}

export interface DeterminationOptions extends PlaceOptions {
  /** The day of a daily value. Give this or `timestamp`. */
  date?: When | undefined;
  /** The end of the hour of an hourly value. */
  timestamp?: When | undefined;
  /** Which revision; 0 is the first. Without it, the newest. */
  revision?: number | undefined;
}

export interface ValueDeterminationOptions extends CallOptions, AsOfOption {
  /** The series of the index, such as `openai`, `openai/all` or `mem_ddr5_16gb`. */
  series: string;
  date: When;
  /** Which revision; 0 is the first. Without it, the newest. */
  revision?: number | undefined;
}

export interface CursorOptions extends CallOptions {
  /** The cursor `next` of an earlier response. Without it, from the beginning. */
  since?: string | undefined;
  /** How many rows a response has at most. */
  limit?: number | undefined;
}

export interface BulkOptions extends CallOptions {
  /** Only the files of this dataset, such as `gpu-daily`. Without it, all. */
  dataset?: string | undefined;
}

export interface CorrectionOptions extends CursorOptions {
  gpuType?: string | undefined;
  /** Only this region, or only `global`. Without it, all. */
  region?: string | undefined;
  granularity?: 'daily' | 'hourly' | undefined;
}

export interface MethodologyOptions extends CallOptions {
  /** Only this version. */
  version?: string | undefined;
}

export interface NoticeOptions extends CallOptions {
  /** Only notices about this GPU model, or about all. */
  gpuType?: string | undefined;
  kind?: string | undefined;
  /** Only notices with smaller numbers. */
  before?: number | undefined;
  /** How many rows a response has at most. */
  limit?: number | undefined;
}

export interface LatestPublicationOptions extends CallOptions, AsOfOption {}

export interface LogInclusionOptions extends CallOptions {
  /** The `hash` of the record. */
  record: string;
}

export interface LogConsistencyOptions extends CallOptions {
  /** How many entries the log had then. */
  from: number;
  /** How many entries the log has now, or had later. */
  to: number;
}

export interface SiteOptions extends CallOptions, AsOfOption {
  /** A city or the name of a site. */
  city?: string | undefined;
  lat?: number | undefined;
  lng?: number | undefined;
  /** The radius around `lat` and `lng`: at most 500, 50 unless given. */
  radiusKm?: number | undefined;
  /** The name or ISO code of a country; `Unknown` for sites without one. */
  country?: string | undefined;
  /** A chip, or any text in the description of the GPUs. */
  gpuType?: string | undefined;
  /** `neocloud` unless given. */
  scope?: 'neocloud' | 'all' | undefined;
  limit?: number | undefined;
  offset?: number | undefined;
}

export interface SitesAggregateOptions extends CallOptions, AsOfOption {
  by?: 'country' | 'gpu_type' | undefined;
  scope?: 'neocloud' | 'all' | undefined;
}

export interface SitesMapOptions extends CallOptions, AsOfOption {
  scope?: 'neocloud' | 'all' | undefined;
  country?: string | undefined;
  /** Only sites in a box of degrees: minLon, minLat, maxLon, maxLat. With minLon > maxLon it crosses the date line. */
  bbox?: string | readonly [number, number, number, number] | undefined;
}

export interface StreamOptions extends CallOptions {
  /** Only these events. */
  event?: string | readonly string[] | undefined;
  /** Only these families: `gpu`, `memory`, `models`, `coding`, `sites`, `utilization`. */
  family?: string | readonly string[] | undefined;
  /** Only these GPU models. */
  gpu?: string | readonly string[] | undefined;
  /** Only this region, or `global`. */
  region?: string | readonly string[] | undefined;
  /** The `id` of the last event that you have processed: the stream continues after it. */
  lastEventId?: string | undefined;
}
