// Which chips a site has, by the rule of the API: a name counts as a whole word, with a count or a plural attached, and
// the longest name wins. The map has all sites in memory, so that a choice of a chip needs no request.

/** The group of sites whose description names no known chip. */
export const otherChip = 'Other';

/** Other spellings of a chip. A space matches a space, a punctuation mark or nothing. */
const spellings: Record<string, string[]> = {
  'RTX 6000 Ada': ['6000 Ada'],
  'RTX A6000': ['A6000'],
  'RTX A5000': ['A5000'],
  'RTX A4000': ['A4000'],
  MI355X: ['MI 355X', 'MI 355'],
  MI350X: ['MI 350X', 'MI 350'],
  MI325X: ['MI 325X', 'MI 325'],
  MI300A: ['MI 300A'],
  MI300X: ['MI 300X', 'MI 300'],
  MI250X: ['MI 250X'],
  MI250: ['MI 250'],
  MI210: ['MI 210'],
  MI100: ['MI 100'],
  'TPU v7': ['Ironwood'],
  'TPU v6': ['TPU v6e', 'Trillium'],
  'TPU v5e': ['TPU v5 lite'],
  Trainium3: ['Trainium 3', 'Trn3'],
  Trainium2: ['Trainium 2', 'Trn2'],
  Trainium: ['Trn1', 'Trainium 1'],
  Inferentia2: ['Inferentia 2', 'Inf2'],
  Inferentia: ['Inf1'],
  'Ascend 910C': ['910C'],
  'Ascend 910B': ['910B'],
  'WSE 3': ['CS 3'],
  'WSE 2': ['CS 2'],
};

const maxWords = 3;

/** Returns a function that finds the given chips in a description. */
export function chipReader(groups: string[]): (description: string) => string[] {
  const known = new Map<string, { chip: string; words: number }>();
  for (const chip of groups) {
    if (chip === otherChip) continue;
    for (const spelling of [chip, ...(spellings[chip] ?? [])]) {
      const words = spelling.toUpperCase().split(' ');
      const piece = words.join('');
      if ((known.get(piece)?.words ?? 0) < words.length) known.set(piece, { chip, words: words.length });
    }
  }
  const cache = new Map<string, string[]>(); // descriptions repeat
  return (description) => {
    let chips = cache.get(description);
    if (!chips) cache.set(description, (chips = chipsIn(description, known)));
    return chips;
  };
}

function chipsIn(description: string, known: Map<string, { chip: string; words: number }>): string[] {
  const words = description.toUpperCase().match(/[A-Z0-9]+/g) ?? [];
  const chips = new Set<string>();
  for (let i = 0; i < words.length;) {
    const found = chipAt(words.slice(i, i + maxWords), known);
    if (found) chips.add(found.chip);
    i += found?.taken ?? 1;
  }
  return chips.size > 0 ? [...chips] : [otherChip];
}

function chipAt(
  words: string[],
  known: Map<string, { chip: string; words: number }>,
): { chip: string; taken: number } | null {
  for (let n = words.length; n > 0; n--) {
    const piece = words.slice(0, n).join('');
    const bare = withoutCount(piece);
    for (const form of [piece, bare, piece.replace(/S$/, ''), bare.replace(/S$/, '')]) {
      const found = known.get(form);
      if (found && n <= found.words) return { chip: found.chip, taken: n };
    }
  }
  return null;
}

/** Removes the count from a word: 8XH100 and H100X8. */
function withoutCount(word: string): string {
  if (/^\d+X/.test(word)) return word.replace(/^\d+X/, '');
  return /\d$/.test(word) ? word.replace(/\d+$/, '').replace(/X$/, '') : word;
}
