// Parses the part of Markdown that the API description uses into blocks, which are rendered as elements. Text is never
// interpreted as markup.

export type Block =
  | { kind: 'heading'; depth: number; text: Inline[] }
  | { kind: 'paragraph'; text: Inline[] }
  | { kind: 'list'; items: Inline[][] }
  | { kind: 'table'; head: Inline[][]; rows: Inline[][][] }
  | { kind: 'code'; text: string };

export type Inline = { kind: 'text' | 'code' | 'strong'; text: string } | { kind: 'link'; text: string; href: string };

export function blocks(source: string): Block[] {
  const result: Block[] = [];
  const lines = source.replaceAll('\r', '').split('\n');
  for (let i = 0; i < lines.length;) {
    const line = lines[i]!;
    const heading = /^(#{1,6})\s+(.*)$/.exec(line);
    if (line.trim() === '') {
      i++;
    } else if (heading) {
      result.push({ kind: 'heading', depth: heading[1]!.length, text: inlines(heading[2]!) });
      i++;
    } else if (line.startsWith('```')) {
      const end = lines.findIndex((other, at) => at > i && other.startsWith('```'));
      const stop = end < 0 ? lines.length : end;
      result.push({ kind: 'code', text: lines.slice(i + 1, stop).join('\n') });
      i = stop + 1;
    } else if (line.startsWith('|') && /^\|[\s:|-]+\|\s*$/.test(lines[i + 1] ?? '')) {
      const rows = run(lines, i, (other) => other.startsWith('|'));
      const [head, , ...body] = rows.map((row) => cells(row).map(inlines));
      result.push({ kind: 'table', head: head!, rows: body });
      i += rows.length;
    } else if (/^[-*]\s/.test(line)) {
      const taken = run(lines, i, (other) => /^([-*]\s|\s+\S)/.test(other));
      const items: string[] = [];
      for (const part of taken) {
        if (/^[-*]\s/.test(part)) items.push(part.slice(2).trim());
        else items[items.length - 1] += ` ${part.trim()}`;
      }
      result.push({ kind: 'list', items: items.map(inlines) });
      i += taken.length;
    } else {
      const taken = [
        line,
        ...run(lines, i + 1, (other) => other.trim() !== '' && !/^(#{1,6}\s|```|\||[-*]\s)/.test(other)),
      ];
      result.push({ kind: 'paragraph', text: inlines(taken.map((part) => part.trim()).join(' ')) });
      i += taken.length;
    }
  }
  return result;
}

function run(lines: string[], from: number, belongs: (line: string) => boolean): string[] {
  const end = lines.findIndex((line, at) => at >= from && !belongs(line));
  return lines.slice(from, end < 0 ? lines.length : end);
}

// A bar inside code does not separate cells.
function cells(row: string): string[] {
  return (
    row
      .trim()
      .replace(/^\||\|$/g, '')
      .match(/(?:`[^`]*`|[^|`])+|(?<=\|)(?=\|)/g) ?? []
  ).map((cell) => cell.trim());
}

/** Parses code, strong text and links to http(s) or to pages of the dashboard. Everything else is text. */
export function inlines(source: string): Inline[] {
  const result: Inline[] = [];
  let last = 0;
  for (const match of source.matchAll(/`([^`]+)`|\*\*([^*]+)\*\*|\[([^\]]+)\]\(((?:https?:\/\/|\/(?!\/))[^)\s]*)\)/g)) {
    if (match.index > last) result.push({ kind: 'text', text: source.slice(last, match.index) });
    if (match[1] !== undefined) result.push({ kind: 'code', text: match[1] });
    else if (match[2] !== undefined) result.push({ kind: 'strong', text: match[2] });
    else result.push({ kind: 'link', text: match[3]!, href: match[4]! });
    last = match.index + match[0].length;
  }
  if (last < source.length) result.push({ kind: 'text', text: source.slice(last) });
  return result;
}
