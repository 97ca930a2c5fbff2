import { eachBefore, eachBehindCursor, eachByOffset, eachPointOf } from './pages.js';
import { invalidArgument } from './error.js';
import type * as options from './options.js';
import type {
  Correction,
  FamilyCorrection,
  IndexPoint,
  MemoryPriceResponse,
  MemoryPricesResponse,
  Notice,
  ResponseOf,
  Site,
  Unhealthy,
} from './responses.js';
import { routes, type RouteName, type TableRouteName } from './routes.js';
import { followStream, type StreamEvent } from './stream.js';
import { mediaTypes, Table, type TableFormat } from './table.js';
import { Transport, type ClientOptions } from './transport.js';
import { buildQuery, fillPath } from './url.js';

/** What a method of a route takes. */
export type ArgumentsOf<Name extends RouteName> = Parameters<Client[Name]>;

/**
 * A client of one Assay server. A method reads one route and returns the JSON that the API sends, with the rows in
 * `data`. Names in paths are arguments; everything else is an option.
 */
export class Client {
  readonly #transport: Transport;

  /**
   * @param url The address of the server, such as `https://data.example.com`: `ASSAY_URL` of the environment unless
   *   given.
   */
  constructor(url?: string | URL, options: ClientOptions = {}) {
    this.#transport = new Transport(url, options);
  }

  /** The address of the server. */
  get url(): string {
    return this.#transport.url;
  }

  // Health and catalogs

  /**
   * The state of the service. While it is not healthy, `status` says why: `unhealthy`, `starting` or `draining`. That
   * is no error.
   */
  health(options: options.CallOptions = {}): Promise<ResponseOf<'health'> | Unhealthy> {
    return this.#read('health', [], options) as Promise<ResponseOf<'health'> | Unhealthy>;
  }

  /** The GPU models, free and paid. */
  gpuTypes(options: options.CallOptions = {}): Promise<ResponseOf<'gpuTypes'>> {
    return this.#read('gpuTypes', [], options);
  }

  /** The GPU models that need no key. */
  freeGpuTypes(options: options.CallOptions = {}): Promise<ResponseOf<'freeGpuTypes'>> {
    return this.#read('freeGpuTypes', [], options);
  }

  /** The regions of the index. */
  regions(options: options.CallOptions = {}): Promise<ResponseOf<'regions'>> {
    return this.#read('regions', [], options);
  }

  /** The labs with a token price. */
  tokenTypes(options: options.CallOptions = {}): Promise<ResponseOf<'tokenTypes'>> {
    return this.#read('tokenTypes', [], options);
  }

  /** The labs that need no key. */
  freeTokenTypes(options: options.CallOptions = {}): Promise<ResponseOf<'freeTokenTypes'>> {
    return this.#read('freeTokenTypes', [], options);
  }

  /** The memory types. */
  memoryTypes(options: options.CallOptions = {}): Promise<ResponseOf<'memoryTypes'>> {
    return this.#read('memoryTypes', [], options);
  }

  /** The products of coding tools. */
  codingProducts(options: options.CallOptions = {}): Promise<ResponseOf<'codingProducts'>> {
    return this.#read('codingProducts', [], options);
  }

  // GPU prices, in USD per GPU-hour

  /** The current price of a GPU model: its newest hourly value. */
  gpuPrice(gpuName: string, options: options.PlaceOptions = {}): Promise<ResponseOf<'gpuPrice'>> {
    return this.#read('gpuPrice', [gpuName], options);
  }

  /** The current prices of all GPU models that you may read, as one request. */
  gpuPrices(options: options.PlaceOptions = {}): Promise<ResponseOf<'gpuPrices'>> {
    return this.#read('gpuPrices', [], options);
  }

  /** The value of a day: the latest one unless given, of `H100 SXM` unless given. */
  dailyIndex(options: options.DailyIndexOptions = {}): Promise<ResponseOf<'dailyIndex'>> {
    return this.#read('dailyIndex', [], options);
  }

  /** The values of a day, of all GPU models that you may read. */
  dailyIndexAll(options: options.DailyIndexAllOptions = {}): Promise<ResponseOf<'dailyIndexAll'>> {
    return this.#read('dailyIndexAll', [], options);
  }

  /** The daily value before the latest one, and the change. */
  previousDailyIndex(gpuName: string, options: options.PlaceOptions = {}): Promise<ResponseOf<'previousDailyIndex'>> {
    return this.#read('previousDailyIndex', [gpuName], options);
  }

  // Series of GPU prices

  /** A series, daily unless given. See also `eachPoint`. */
  indexHistory(gpuName: string, options: options.HistoryOptions = {}): Promise<ResponseOf<'indexHistory'>> {
    return this.#read('indexHistory', [gpuName], options);
  }

  /** The series of `H100 SXM`. */
  h100History(options: options.HistoryOptions = {}): Promise<ResponseOf<'h100History'>> {
    return this.#read('h100History', [], options);
  }

  /** The value nearest to an instant. */
  nearestValue(gpuName: string, options: options.NearestValueOptions): Promise<ResponseOf<'nearestValue'>> {
    return this.#read('nearestValue', [gpuName], options);
  }

  /** A series, newest first. */
  historySimple(gpuName: string, options: options.HistoryOptions = {}): Promise<ResponseOf<'historySimple'>> {
    return this.#read('historySimple', [gpuName], options);
  }

  /** A series with statistics of each window. */
  historyRange(gpuName: string, options: options.HistoryOptions = {}): Promise<ResponseOf<'historyRange'>> {
    return this.#read('historyRange', [gpuName], options);
  }

  /** Hourly values: the last seven days unless given. Needs a Full key. See also `eachHourlyPoint`. */
  hourlyHistory(gpuName: string, options: options.HourlyOptions = {}): Promise<ResponseOf<'hourlyHistory'>> {
    return this.#read('hourlyHistory', [gpuName], options);
  }

  /** The value of each of the last minutes. Needs a Full key. */
  realtime(gpuName: string, options: options.RealtimeOptions = {}): Promise<ResponseOf<'realtime'>> {
    return this.#read('realtime', [gpuName], options);
  }

  /** The mean of the last 24 hourly values. Needs a Full key. */
  rollingAverage(gpuName: string, options: options.PlaceOptions = {}): Promise<ResponseOf<'rollingAverage'>> {
    return this.#read('rollingAverage', [gpuName], options);
  }

  /** The mean of 24 hourly values at each daily fixing. */
  rollingAverageHistory(
    gpuName: string,
    options: options.HourlyOptions = {},
  ): Promise<ResponseOf<'rollingAverageHistory'>> {
    return this.#read('rollingAverageHistory', [gpuName], options);
  }

  // Analytics

  /** The volatility of a series, annualized. */
  volatility(gpuName: string, options: options.VolatilityOptions): Promise<ResponseOf<'volatility'>> {
    return this.#read('volatility', [gpuName], options);
  }

  /** How much of the tracked capacity was rented. */
  volumeMetrics(gpuName: string, options: options.VolumeOptions = {}): Promise<ResponseOf<'volumeMetrics'>> {
    return this.#read('volumeMetrics', [gpuName], options);
  }

  /** The utilization of each GPU model, now and on average. */
  gpuUtilization(options: options.PlaceOptions = {}): Promise<ResponseOf<'gpuUtilization'>> {
    return this.#read('gpuUtilization', [], options);
  }

  // Memory, coding tools, tokens

  /** The newest memory prices: with `type` one, otherwise all. */
  memoryIndex(options: options.MemoryIndexOptions & { type: string }): Promise<MemoryPriceResponse>;
  memoryIndex(options?: options.MemoryIndexOptions & { type?: undefined }): Promise<MemoryPricesResponse>;
  memoryIndex(options?: options.MemoryIndexOptions): Promise<ResponseOf<'memoryIndex'>>;
  memoryIndex(options: options.MemoryIndexOptions = {}): Promise<ResponseOf<'memoryIndex'>> {
    return this.#read('memoryIndex', [], options);
  }

  /** The prices of a memory type, by its id or name. */
  memoryHistory(memoryType: string, options: options.SeriesOptions = {}): Promise<ResponseOf<'memoryHistory'>> {
    return this.#read('memoryHistory', [memoryType], options);
  }

  /** The newest value of a product. */
  codingIndex(options: options.CodingIndexOptions): Promise<ResponseOf<'codingIndex'>> {
    return this.#read('codingIndex', [], options);
  }

  /** The values of a product, or of the two that it compares. */
  codingHistory(options: options.CodingHistoryOptions): Promise<ResponseOf<'codingHistory'>> {
    return this.#read('codingHistory', [], options);
  }

  /** Prices of tokens, in USD per million. */
  otpi(options: options.OtpiOptions = {}): Promise<ResponseOf<'otpi'>> {
    return this.#read('otpi', [], options);
  }

  /** What requests cost, and why that changed. */
  workload(options: options.WorkloadOptions = {}): Promise<ResponseOf<'workload'>> {
    return this.#read('workload', [], options);
  }

  // Proof

  /** How a value of a GPU model was determined. */
  determination(gpuName: string, options: options.DeterminationOptions = {}): Promise<ResponseOf<'determination'>> {
    return this.#read('determination', [gpuName], options);
  }

  /** How a value of another index was determined: `otpi`, `workload`, `memory`, … */
  valueDetermination(
    index: string,
    options: options.ValueDeterminationOptions,
  ): Promise<ResponseOf<'valueDetermination'>> {
    return this.#read('valueDetermination', [index], options);
  }

  /** The published values that were restated. See also `eachCorrection`. */
  corrections(options: options.CorrectionOptions = {}): Promise<ResponseOf<'corrections'>> {
    return this.#read('corrections', [], options);
  }

  /** The restated rows of `memory`, `models`, `coding` or `utilization`. See also `eachFamilyCorrection`. */
  familyCorrections(family: string, options: options.CursorOptions = {}): Promise<ResponseOf<'familyCorrections'>> {
    return this.#read('familyCorrections', [family], options);
  }

  /** The files of complete months that you may download; `url` is where the server has each. */
  bulk(options: options.BulkOptions = {}): Promise<ResponseOf<'bulk'>> {
    return this.#read('bulk', [], options);
  }

  /** The rules, in all their versions. */
  methodology(options: options.MethodologyOptions = {}): Promise<ResponseOf<'methodology'>> {
    return this.#read('methodology', [], options);
  }

  /** The messages of the publisher, newest first. See also `eachNotice`. */
  notices(options: options.NoticeOptions = {}): Promise<ResponseOf<'notices'>> {
    return this.#read('notices', [], options);
  }

  /** The newest publication and its signed manifest. */
  latestPublication(options: options.LatestPublicationOptions = {}): Promise<ResponseOf<'latestPublication'>> {
    return this.#read('latestPublication', [], options);
  }

  /** The proof that the log lists a record. */
  logInclusion(options: options.LogInclusionOptions): Promise<ResponseOf<'logInclusion'>> {
    return this.#read('logInclusion', [], options);
  }

  /** The proof that the log only grew. */
  logConsistency(options: options.LogConsistencyOptions): Promise<ResponseOf<'logConsistency'>> {
    return this.#read('logConsistency', [], options);
  }

  // Data-center sites. They need a Full key.

  /** The sites of a region. See also `eachSite`. */
  sites(options: options.SiteOptions = {}): Promise<ResponseOf<'sites'>> {
    return this.#read('sites', [], options);
  }

  /** The sites by country or by GPU model. */
  sitesAggregate(options: options.SitesAggregateOptions = {}): Promise<ResponseOf<'sitesAggregate'>> {
    return this.#read('sitesAggregate', [], options);
  }

  /** The sites as GeoJSON. */
  sitesMap(options: options.SitesMapOptions = {}): Promise<ResponseOf<'sitesMap'>> {
    return this.#read('sitesMap', [], options);
  }

  // More than one request

  /**
   * All points of a series, over as many requests as it takes; `limit` is how many points one of them asks for. With
   * `asOf` all points are from one moment; without it, a restatement may come in between.
   */
  eachPoint(gpuName: string, options: options.HistoryOptions = {}): AsyncGenerator<IndexPoint, void, undefined> {
    return eachPointOf((query) => this.indexHistory(gpuName, query), { limit: 10_000, ...options });
  }

  /** All hourly points of a series, as `eachPoint` has them: the last seven days unless given. */
  eachHourlyPoint(gpuName: string, options: options.HourlyOptions = {}): AsyncGenerator<IndexPoint, void, undefined> {
    return eachPointOf((query) => this.hourlyHistory(gpuName, query), { limit: 10_000, ...options });
  }

  /** All sites of a region; `limit` is how many one request asks for. */
  eachSite(options: options.SiteOptions = {}): AsyncGenerator<Site, void, undefined> {
    return eachByOffset((query) => this.sites(query), { limit: 1000, ...options });
  }

  /** All corrections after `since`; `limit` is how many one request asks for. */
  eachCorrection(options: options.CorrectionOptions = {}): AsyncGenerator<Correction, void, undefined> {
    return eachBehindCursor((query) => this.corrections(query), { ...options });
  }

  /** All corrections of a family after `since`; `limit` is how many one request asks for. */
  eachFamilyCorrection(
    family: string,
    options: options.CursorOptions = {},
  ): AsyncGenerator<FamilyCorrection, void, undefined> {
    return eachBehindCursor((query) => this.familyCorrections(family, query), { ...options });
  }

  /** All notices, newest first; `limit` is how many one request asks for. */
  eachNotice(options: options.NoticeOptions = {}): AsyncGenerator<Notice, void, undefined> {
    return eachBefore((query) => this.notices(query), { ...options });
  }

  /**
   * Downloads the rows of a route as a table: `table('indexHistory', 'csv', 'H100 SXM', { startDate: '2026-10-01' })`.
   * After the format come the arguments of the method with that name.
   */
  async table<Name extends TableRouteName>(
    name: Name,
    format: TableFormat,
    ...args: ArgumentsOf<Name>
  ): Promise<Table> {
    const accept = Object.hasOwn(mediaTypes, format) ? mediaTypes[format] : undefined;
    if (!accept) throw invalidArgument('format', 'The format of a table is csv, ndjson or parquet.', tableFormats);
    if (!Object.hasOwn(routes, name) || !routes[name].table) {
      throw invalidArgument('name', 'Only the methods that return rows have a table.', tableNames);
    }
    const { names, options } = splitArguments(name, args);
    const asked = targetOf(name, names, options);
    const target = `${asked}${asked.includes('?') ? '&' : '?'}format=${format}`;
    const exchange = await this.#transport.open({ target, accept, signal: options.signal });
    const type = exchange.headers.get('content-type') ?? '';
    if (type.split(';')[0]?.trim().toLowerCase() === accept) {
      return new Table(exchange, format, this.#transport.timeout);
    }
    await exchange.discard();
    throw exchange.invalid(`is not ${accept}`);
  }

  /**
   * Follows the stream of events, over as many connections as it takes, without a gap as long as the server remembers
   * where you were; otherwise there is a `gap` event. It ends when the key is revoked, and throws when the server
   * refuses the request or you abort.
   */
  stream(options: options.StreamOptions = {}): AsyncGenerator<StreamEvent, void, undefined> {
    return followStream(this.#transport, options);
  }

  async #read<Name extends RouteName>(
    name: Name,
    names: readonly unknown[],
    options: options.CallOptions,
  ): Promise<ResponseOf<Name>> {
    const accepted = name === 'health' ? 503 : undefined;
    const request = { target: targetOf(name, names, options), signal: options.signal, accepted };
    return (await this.#transport.json(request)) as ResponseOf<Name>;
  }
}

const tableFormats = Object.keys(mediaTypes);
const tableNames = Object.entries(routes).flatMap(([name, { table }]) => (table ? [name] : []));

/** The path and query of a request. */
function targetOf(name: RouteName, names: readonly unknown[], options: object): string {
  const { path, query } = routes[name];
  return fillPath(path, names) + buildQuery(query, options, name);
}

/** Tells the names in a path from the options behind them. */
function splitArguments(name: RouteName, args: readonly unknown[]): { names: unknown[]; options: options.CallOptions } {
  const count = routes[name].path.match(/\{/g)?.length ?? 0;
  return { names: args.slice(0, count), options: (args[count] ?? {}) as options.CallOptions };
}
