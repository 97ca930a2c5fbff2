// Which version of the methodology a GPU value was determined with.
import { get, type Row } from './api';

type Version = Pick<Row<'/api/methodology'>, 'version' | 'effective_at'>;

/** Returns the version that a value at an instant follows; without the list of versions, an empty text. */
export async function methodologyOfValues(): Promise<(at: number) => string> {
  const versions = await get('/api/methodology').then(
    ({ data }) => data,
    () => [],
  );
  return (at) => versionAt(versions, at);
}

/** The newest version that is in effect at an instant. Versions are sorted, the oldest first. */
export const versionAt = (versions: readonly Version[], at: number): string =>
  versions.findLast((one) => Date.parse(one.effective_at) <= at)?.version ?? '';
