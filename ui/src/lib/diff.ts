// What changed between two texts, line by line.

export interface DiffLine {
  kind: 'same' | 'added' | 'removed';
  text: string;
}

/** The lines of both texts in order: what they share, and between that what was removed and then what was added. */
export function diff(before: string, after: string): DiffLine[] {
  const old = before.trimEnd().split('\n');
  const now = after.trimEnd().split('\n');
  // common[i][k] is the length of the longest common part of the lines from i and from k on.
  const common = Array.from({ length: old.length + 1 }, () => new Array<number>(now.length + 1).fill(0));
  for (let i = old.length - 1; i >= 0; i--)
    for (let k = now.length - 1; k >= 0; k--)
      common[i]![k] = old[i] === now[k] ? common[i + 1]![k + 1]! + 1 : Math.max(common[i + 1]![k]!, common[i]![k + 1]!);

  const lines: DiffLine[] = [];
  let i = 0;
  let k = 0;
  while (i < old.length || k < now.length) {
    if (i < old.length && k < now.length && old[i] === now[k]) {
      lines.push({ kind: 'same', text: old[i]! });
      i++;
      k++;
    } else if (i < old.length && (k === now.length || common[i + 1]![k]! >= common[i]![k + 1]!)) {
      lines.push({ kind: 'removed', text: old[i++]! });
    } else {
      lines.push({ kind: 'added', text: now[k++]! });
    }
  }
  return lines;
}
