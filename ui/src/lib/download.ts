/** Hands a file to the reader. */
export function save(name: string, content: Blob): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

type Cell = string | number | boolean | null | undefined;

/** Writes rows as CSV after RFC 4180. What a spreadsheet would take for a formula is kept from being one. */
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
