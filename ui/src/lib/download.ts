import { provenance } from './provenance.svelte';

/** Lets the browser save a file. */
export function save(name: string, content: Blob): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

type Cell = string | number | boolean | null | undefined;

/** Saves figures as a CSV file. Its last columns say where each row comes from, so that rows keep it when they are copied. */
export function saveCSV(name: string, header: string[], rows: Cell[][]): void {
  const origin = [provenance.synthetic, location.href];
  save(
    name,
    csv(
      [...header, 'synthetic', 'source'],
      rows.map((row) => [...row, ...origin]),
    ),
  );
}

/** Writes rows as CSV (RFC 4180). Text that a spreadsheet would run as a formula gets a leading apostrophe. */
export function csv(header: string[], rows: Cell[][]): Blob {
  const lines = [header, ...rows].map((row) => row.map(cell).join(','));
  return new Blob([lines.join('\r\n') + '\r\n'], { type: 'text/csv' });
}

function cell(value: Cell): string {
  if (value === null || value === undefined) return '';
  if (typeof value !== 'string') return String(value);
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
