// Why a step fails or cannot be made.

/** What is wrong with the evidence, as a sentence. */
export class Wrong extends Error {
  constructor(
    text: string,
    readonly more: { newKey?: string; contradiction?: string[] } = {},
  ) {
    super(text);
  }
}

/** Why something cannot be checked, as a sentence. If it is optional, the value may count as verified all the same. */
export class Unchecked extends Error {
  constructor(
    text: string,
    readonly optional = false,
  ) {
    super(text);
  }
}

/** The ends of a hash, as the page shows hashes. */
export const short = (hash: string): string => (hash.length > 24 ? `${hash.slice(0, 12)}…${hash.slice(-8)}` : hash);

/** A text of the server that is not too long for a sentence. */
export const shown = (text: string): string => (text.length > 80 ? `${text.slice(0, 80)}…` : text);
export const quoted = (text: string): string => `“${shown(text)}”`;
