// Trees as in RFC 6962. The algorithms are those of golang.org/x/mod/sumdb/tlog.
import { equal, join, sha256, type Bytes } from './bytes';
import type { Checkpoint } from './note';
import { quoted, Wrong } from './wrong';

/** The largest power of two below n. */
function split(n: number): number {
  let k = 1;
  while (k * 2 < n) k *= 2;
  return k;
}

const nodeHash = (left: Bytes, right: Bytes): Promise<Bytes> => sha256(join(new Uint8Array([1]), left, right));

/** How many hashes lead from a leaf to the root. */
export function pathLength(leaf: number, size: number): number {
  let length = 0;
  for (let [lo, hi] = [0, size]; hi - lo > 1; length++) {
    const middle = lo + split(hi - lo);
    if (leaf < middle) hi = middle;
    else lo = middle;
  }
  return length;
}

/** The root of the tree over [lo, hi) that the hashes lead to from a leaf. There are as many as pathLength says. */
export async function rootOf(hashes: Bytes[], lo: number, hi: number, leaf: number, leafHash: Bytes): Promise<Bytes> {
  if (hi - lo === 1) return leafHash;
  const middle = lo + split(hi - lo);
  const [below, sibling] = [hashes.slice(0, -1), hashes.at(-1)!];
  return leaf < middle
    ? nodeHash(await rootOf(below, lo, middle, leaf, leafHash), sibling)
    : nodeHash(sibling, await rootOf(below, middle, hi, leaf, leafHash));
}

export async function isConsistent(hashes: Bytes[], to: Checkpoint, from: Checkpoint): Promise<boolean> {
  const roots = await rootsOf(hashes, 0, to.size, from.size, from.root);
  return roots !== undefined && equal(roots.old, from.root) && equal(roots.now, to.root);
}

/** The roots over [lo, hi) of the old tree, which ends at size, and of the new one; undefined if the hashes do not fit. */
async function rootsOf(
  hashes: Bytes[],
  lo: number,
  hi: number,
  size: number,
  oldRoot: Bytes,
): Promise<{ old: Bytes; now: Bytes } | undefined> {
  if (size === hi) {
    if (lo === 0) return hashes.length === 0 ? { old: oldRoot, now: oldRoot } : undefined;
    return hashes.length === 1 ? { old: hashes[0]!, now: hashes[0]! } : undefined;
  }
  const sibling = hashes.at(-1);
  if (!sibling) return undefined;
  const middle = lo + split(hi - lo);
  const below = hashes.slice(0, -1);
  if (size <= middle) {
    const roots = await rootsOf(below, lo, middle, size, oldRoot);
    return roots && { old: roots.old, now: await nodeHash(roots.now, sibling) };
  }
  const roots = await rootsOf(below, middle, hi, size, oldRoot);
  return roots && { old: await nodeHash(sibling, roots.old), now: await nodeHash(sibling, roots.now) };
}

export function parseHash(text: string): Bytes {
  if (!/^[0-9a-f]{64}$/.test(text)) throw new Wrong(`Expected a hash in the proof, but found ${quoted(text)}.`);
  return Uint8Array.from(text.match(/../g)!, (digits) => parseInt(digits, 16));
}
