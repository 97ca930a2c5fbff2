// GPU prices: one question a GPU gives all that the reader may see of it, and ranges are cut from that. So looking
// around costs few requests.
import { get } from './api';
import type { GPUType, History, List } from './types';
import type { Colour, Line } from './series';

export const gpuTypes = () => get<List<GPUType>>('/api/gpu-types');
export const freeGPUs = () => get<List<GPUType>>('/api/gpu-types-free');
export const regions = () => get<List<{ region: string }>>('/api/regions');

/** The history of a GPU that the reader's tier reaches; startDate only where a key lets it go back further. */
export function history(
  gpu: string,
  options: { region?: string; hourly?: boolean; all?: boolean } = {},
): Promise<History> {
  return get<History>(`/api/gpu/${encodeURIComponent(gpu)}/index-history`, {
    startDate: options.all ? '2000-01-01' : undefined,
    granularity: options.hourly ? 'hourly' : undefined,
    region: options.region,
  });
}

export function lineOf(answer: History, colour: Colour): Line {
  return {
    label: answer.gpu_type,
    colour,
    times: answer.data.map((point) => Date.parse(point.timestamp) / 1000),
    values: answer.data.map((point) => point.index_value),
  };
}
