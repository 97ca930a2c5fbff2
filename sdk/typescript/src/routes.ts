/** A route: its path, its parameters with their names in the API, and whether it also sends its rows as a table. */
interface RouteDescription {
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly table: boolean;
}

const none = {} as const;
const asOf = { asOf: 'as_of' } as const;
const place = { region: 'region', ...asOf } as const;
const range = { startDate: 'startDate', endDate: 'endDate' } as const;
const rows = { order: 'order', limit: 'limit' } as const;
const grain = { granularity: 'granularity' } as const;
const page = { since: 'since', limit: 'limit' } as const;

/** Every route that the client reads, under the name of its method. The tests compare them with the API description. */
export const routes = {
  health: { path: '/health', query: none, table: false },

  gpuTypes: { path: '/api/gpu-types', query: none, table: true },
  freeGpuTypes: { path: '/api/gpu-types-free', query: none, table: true },
  regions: { path: '/api/regions', query: none, table: true },
  tokenTypes: { path: '/api/token-types', query: none, table: true },
  freeTokenTypes: { path: '/api/token-types-free', query: none, table: true },
  memoryTypes: { path: '/api/memory-types', query: none, table: true },
  codingProducts: { path: '/api/llm-coding/products', query: none, table: true },

  gpuPrice: { path: '/api/gpu/{gpuName}', query: place, table: true },
  gpuPrices: { path: '/api/gpu-prices', query: place, table: true },
  dailyIndex: { path: '/api/daily-index', query: { gpuType: 'gpuType', date: 'date', ...place }, table: true },
  dailyIndexAll: { path: '/api/daily-index/all', query: { date: 'date', ...place }, table: true },
  previousDailyIndex: { path: '/api/daily-index/{gpuName}/previous', query: place, table: true },

  indexHistory: {
    path: '/api/gpu/{gpuName}/index-history',
    query: { ...range, ...grain, ...place, ...rows },
    table: true,
  },
  h100History: { path: '/api/h100-history', query: { ...range, ...grain, ...place, ...rows }, table: true },
  nearestValue: { path: '/api/gpu/{gpuName}/history', query: { datetime: 'datetime', ...place }, table: true },
  historySimple: {
    path: '/api/gpu/{gpuName}/history-simple',
    query: { ...range, ...grain, ...place, ...rows },
    table: true,
  },
  historyRange: {
    path: '/api/gpu/{gpuName}/history-range',
    query: { ...range, ...grain, ...place, ...rows },
    table: true,
  },
  hourlyHistory: { path: '/api/gpu/{gpuName}/hourly', query: { ...range, ...place, ...rows }, table: true },
  realtime: {
    path: '/api/gpu/{gpuName}/realtime',
    query: { minutes: 'minutes', order: 'order', ...place },
    table: true,
  },
  rollingAverage: { path: '/api/gpu/{gpuName}/rolling-24h-average', query: place, table: true },
  rollingAverageHistory: {
    path: '/api/gpu/{gpuName}/rolling-24h-average/history',
    query: { ...range, ...place, ...rows },
    table: true,
  },

  volatility: {
    path: '/api/gpu/{gpuName}/volatility',
    query: { ...range, windowDays: 'windowDays', ...grain, ...place, ...rows },
    table: true,
  },
  volumeMetrics: {
    path: '/api/gpu/{gpuName}/volume-metrics',
    query: { ...range, ...grain, partial: 'partial', ...place, ...rows },
    table: true,
  },
  gpuUtilization: { path: '/api/gpu-utilization', query: place, table: true },

  memoryIndex: { path: '/api/memory-index', query: { type: 'type', category: 'category', ...asOf }, table: true },
  memoryHistory: { path: '/api/memory/{memoryType}/history', query: { ...range, ...asOf, ...rows }, table: true },
  codingIndex: { path: '/api/llm-coding/index', query: { product: 'product', ...asOf }, table: true },
  codingHistory: {
    path: '/api/llm-coding/history',
    query: { product: 'product', ...range, ...asOf, ...rows },
    table: true,
  },
  otpi: {
    path: '/api/otpi',
    query: { lab: 'lab', date: 'date', ...range, ...asOf, ...rows, offset: 'offset' },
    table: true,
  },
  workload: {
    path: '/api/workload',
    query: { lab: 'lab', family: 'family', windowDays: 'windowDays', ...range, ...asOf, ...rows, offset: 'offset' },
    table: true,
  },

  determination: {
    path: '/api/gpu/{gpuName}/determination',
    query: { date: 'date', timestamp: 'timestamp', revision: 'revision', ...place },
    table: false,
  },
  valueDetermination: {
    path: '/api/determinations/{index}',
    query: { series: 'series', date: 'date', revision: 'revision', ...asOf },
    table: false,
  },
  corrections: {
    path: '/api/corrections',
    query: { ...page, gpuType: 'gpuType', region: 'region', ...grain },
    table: true,
  },
  familyCorrections: { path: '/api/corrections/{family}', query: page, table: true },
  bulk: { path: '/api/bulk', query: { dataset: 'dataset' }, table: true },
  methodology: { path: '/api/methodology', query: { version: 'version' }, table: true },
  notices: {
    path: '/api/notices',
    query: { gpuType: 'gpuType', kind: 'kind', before: 'before', limit: 'limit' },
    table: true,
  },
  latestPublication: { path: '/api/publications/latest', query: asOf, table: false },
  logInclusion: { path: '/api/log/inclusion', query: { record: 'record' }, table: false },
  logConsistency: { path: '/api/log/consistency', query: { from: 'from', to: 'to' }, table: false },

  sites: {
    path: '/api/neocloud/sites',
    query: {
      city: 'city',
      lat: 'lat',
      lng: 'lng',
      radiusKm: 'radius_km',
      country: 'country',
      gpuType: 'gpu_type',
      scope: 'scope',
      limit: 'limit',
      offset: 'offset',
      ...asOf,
    },
    table: true,
  },
  sitesAggregate: { path: '/api/neocloud/sites/aggregate', query: { by: 'by', scope: 'scope', ...asOf }, table: true },
  sitesMap: {
    path: '/api/neocloud/map',
    query: { scope: 'scope', country: 'country', bbox: 'bbox', ...asOf },
    table: false,
  },
} as const satisfies Record<string, RouteDescription>;

/** The name of a method that reads one route. */
export type RouteName = keyof typeof routes;

/** The name of a route whose rows can be downloaded as a table. */
export type TableRouteName = {
  [Name in RouteName]: (typeof routes)[Name]['table'] extends true ? Name : never;
}[RouteName];

/** The stream of events. It is no route of `routes`, because it has no response that ends. */
export const streamRoute = {
  path: '/api/stream',
  query: { event: 'event', family: 'family', gpu: 'gpu', region: 'region', lastEventId: 'last_event_id' },
} as const;
