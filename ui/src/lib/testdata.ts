// Records for tests.
import type { Site } from './sites';

export function site(overrides: Partial<Site> = {}): Site {
  return {
    company: 'Nordic Compute',
    site_name: 'OSL1',
    city: 'Oslo',
    country: 'Norway',
    gpu_types: 'H100',
    gpu_qty: 1000,
    power_capacity_mw: 10,
    chip_generation: 'Hopper',
    category: 'GPU cloud',
    key_customer: null,
    status: 'operational',
    dc_tier: 'III',
    latitude: 59.91,
    longitude: 10.75,
    is_neocloud: true,
    ...overrides,
  };
}
