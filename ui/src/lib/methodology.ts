// The rules that values follow: which version a GPU value was determined with, and how the rules are explained.
import { ApiError, get, type Row } from './api';

export type Methodology = Row<'/api/methodology'>;

/** Every version of the rules, the oldest first. */
export const methodologies = () => get('/api/methodology');

/** Returns the version that a value at an instant follows; without the list of versions, an empty text. */
export async function methodologyOfValues(): Promise<(at: number) => string> {
  const versions = await methodologies().then(
    ({ data }) => data,
    () => [],
  );
  return (at) => versionAt(versions, at);
}

/** The newest version that is in effect at an instant. Versions are sorted, the oldest first. */
export const versionAt = (versions: readonly Pick<Methodology, 'version' | 'effective_at'>[], at: number): string =>
  versions.findLast((one) => Date.parse(one.effective_at) <= at)?.version ?? '';

/** Reads the explanation of the rules, without the title that its page has already, and with links that lead somewhere here. */
export async function guide(): Promise<string> {
  const response = await fetch('/docs/methodology.md');
  if (!response.ok) throw new ApiError('The explanation could not be read.', response.status, '');
  return pageOf(await response.text());
}

/** A document as a part of a page. Other documents are served beside it; its own sections have no address here. */
export const pageOf = (document: string): string =>
  document
    .replace(/^# .*\n+/, '')
    .replaceAll(/\[([^\]]+)\]\(#[^)]*\)/g, '$1')
    .replaceAll(/\]\(([\w-]+\.md(?:#[^)]*)?)\)/g, '](/docs/$1)');
