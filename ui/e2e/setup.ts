import { execFileSync } from 'node:child_process';
import { resolve } from 'node:path';
import { copyOfData, newFolder, now, program, remove, startDemo } from './server';

const demoMarket = resolve(import.meta.dirname, '../../scripts/demo-market');

// The demo's data is made once for each program, and one server serves all workers. A test that stops its server starts from a
// copy of the data.
export default async function setup(): Promise<() => Promise<void>> {
  const data = newFolder();
  execFileSync(demoMarket, [data, now], { env: { ...process.env, ASSAY_TEST_BINARY: program } });
  process.env.ASSAY_E2E_DATA = data;

  const { server, stop } = await startDemo(copyOfData(data));
  process.env.ASSAY_E2E_SERVER = JSON.stringify(server);
  return async () => {
    await stop();
    remove(server.folder);
    remove(data);
  };
}
