// What the plans are called and cost.
import type { Tier } from './session.svelte';

export interface PlanOffer {
  tier: Tier;
  title: string;
  price: string;
  unit: string;
  text: string;
}

export const offers: PlanOffer[] = [
  {
    tier: 'anonymous',
    title: 'Free',
    price: 'USD 0',
    unit: 'no account, no key',
    text: 'The price of compute today and over the last months.',
  },
  {
    tier: 'premium',
    title: 'Premium',
    price: 'USD 500',
    unit: 'per month, or a 72-hour trial',
    text: 'Every daily dataset with its complete history.',
  },
  {
    tier: 'full',
    title: 'Full',
    price: 'Custom',
    unit: 'price, by agreement',
    text: 'Everything: hourly and real-time data, and the sites of the GPUs.',
  },
];

/** What a plan costs, in a line. */
export function priceOf(wanted: Tier): string {
  const { title, price, unit } = offers.find(({ tier }) => tier === wanted)!;
  return `${title}: ${price} ${unit}`;
}
