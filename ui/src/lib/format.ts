// How numbers and times are formatted. Times are always UTC.

const usd = new Intl.NumberFormat('en-US', {
  style: 'currency',
  currency: 'USD',
  minimumFractionDigits: 4,
  maximumFractionDigits: 4,
});
const plain = new Intl.NumberFormat('en-US', { maximumFractionDigits: 4 });
const whole = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });
const compact = new Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits: 1 });

/** A published price, with the four decimals that it was published with. */
export const price = (value: number): string => usd.format(value);
export const number = (value: number): string => plain.format(value);
export const count = (value: number): string => whole.format(value);
export const short = (value: number): string => compact.format(value);
export const share = (ratio: number): string => `${(ratio * 100).toFixed(1)}%`;

/** A change in percent, with its sign. */
export function change(percent: number): string {
  return `${percent > 0 ? '+' : percent < 0 ? '−' : ''}${Math.abs(percent).toFixed(2)}%`;
}

/** A difference of two prices, with its sign. */
export const priceDifference = (value: number): string =>
  `${value > 0 ? '+' : value < 0 ? '−' : ''}${price(Math.abs(value))}`;

/** A change in percent with its sign, or a dash where there is none. */
export const changeOrDash = (percent: number | null): string => (percent === null ? '–' : change(percent));

/** 2026-11-14 */
export const day = (at: string | number): string => new Date(at).toISOString().slice(0, 10);

/** 2026-11-14 21:00 UTC */
export const instant = (at: string | number): string =>
  `${new Date(at).toISOString().slice(0, 16).replace('T', ' ')} UTC`;

const newYork = new Intl.DateTimeFormat('en-US', {
  timeZone: 'America/New_York',
  hour: '2-digit',
  minute: '2-digit',
  hourCycle: 'h23',
});

/** The instant of a daily value and its fixing. */
export function fixing(at: string | number): string {
  return `${instant(at)} (${newYork.format(new Date(at))} New York fixing)`;
}

/** 2026-11-14 21:00:00.123 UTC, for instants that must be exact. */
export const exact = (at: string | number): string => new Date(at).toISOString().replace('T', ' ').replace('Z', ' UTC');

/** 2026-11-14 21:00:00 UTC, for instants that are shown to the second. */
export const toSecond = (at: string | number): string => exact(at).replace(/\.\d+/, '');

/** An instant with the time of day in New York. */
export const withNewYork = (at: string | number): string => `${instant(at)} (${newYork.format(new Date(at))} New York)`;

/** A duration: 3 min, 5 h, 2 d. */
export function duration(seconds: number): string {
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86_400)} d`;
}

/** A duration to the second, for a running clock: 2 d 03:04:05. */
export function clock(seconds: number): string {
  const two = (n: number) => String(Math.floor(n)).padStart(2, '0');
  const days = Math.floor(seconds / 86_400);
  return `${days > 0 ? `${days} d ` : ''}${two((seconds % 86_400) / 3600)}:${two((seconds % 3600) / 60)}:${two(seconds % 60)}`;
}
