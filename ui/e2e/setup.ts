import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { remove, startDemo } from './server';

// The demo's market is made once; every server of the tests starts from a copy of it.
export default async function setup(): Promise<() => void> {
  const folder = mkdtempSync(join(tmpdir(), 'assay-e2e-'));
  process.env.ASSAY_E2E_MARKET = folder;
  const server = await startDemo(folder);
  await server.stop();
  return () => remove(folder);
}
