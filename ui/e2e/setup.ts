import { copyOfData, newFolder, remove, startDemo } from './server';

// The demo's data is made once, and one server serves all workers. A test that stops its server starts from a copy of the
// data.
export default async function setup(): Promise<() => Promise<void>> {
  const data = newFolder();
  const first = await startDemo(data);
  await first.stop();
  process.env.ASSAY_E2E_DATA = data;

  const { server, stop } = await startDemo(copyOfData(data));
  process.env.ASSAY_E2E_SERVER = JSON.stringify(server);
  return async () => {
    await stop();
    remove(server.folder);
    remove(data);
  };
}
