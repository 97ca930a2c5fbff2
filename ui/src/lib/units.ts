// How the figures of memory, tokens, workload and coding are formatted: with the digits that they are published with, or
// as many as a reader can use.

const fixed = (digits: number, unit?: Intl.NumberFormatOptions) =>
  new Intl.NumberFormat('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits, ...unit });
const usd3 = fixed(3, { style: 'currency', currency: 'USD' });
const three = fixed(3);
const four = fixed(4);
const two = fixed(2);

/** USD per unit of a memory type. */
export const unitPrice = (value: number): string => usd3.format(value);
/** The high or low of a price, next to a figure with the unit. */
export const bound = (value: number): string => three.format(value);
/** US cents per request. */
export const cents = (value: number): string => `${four.format(value)}¢`;
/** Thousand tokens per request. */
export const kilotokens = (value: number): string => `${three.format(value)}k`;
/** An index: 100 at its start. */
export const index = (value: number): string => two.format(value);
/** A rate in percent. */
export const percent = (value: number): string => `${two.format(value)}%`;

/** A change in cents, with its sign. */
export function effect(value: number): string {
  const text = four.format(Math.abs(value));
  return `${text === '0.0000' ? '' : value > 0 ? '+' : '−'}${text}¢`;
}
