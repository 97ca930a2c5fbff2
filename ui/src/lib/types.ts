// The answers of the API that the dashboard reads, by the names of its description.

export type Tier = 'anonymous' | 'premium' | 'full';

export interface List<T> {
  count: number;
  data: T[];
}

export interface Health {
  status: string;
  version: string;
  synthetic?: boolean;
  datasets: Record<string, { latest: string | null; age_seconds: number | null }>;
}

export interface GPUType {
  gpu_name: string;
  region: string;
}

export interface DailyIndex {
  gpu_type: string;
  region: string;
  index_value: number;
  date: string;
}

export interface Point {
  timestamp: string;
  index_value: number;
}

export interface History extends List<Point> {
  gpu_type: string;
  region: string;
  access: string;
  granularity: 'daily' | 'hourly';
}
