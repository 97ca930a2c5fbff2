// An open page behind two nodes that share a PostgreSQL. Its clock is that of the machine, so a fixing is published when the
// test says so, and the print of a minute when the minute ends.
import { execFileSync, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { connect, createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Browser } from '@playwright/test';
import { newFolder, program, remove } from './server';
import { expect, open, test } from './test';

const minute = 60_000;
const hour = 60 * minute;

interface Rental {
  at: number;
  price: number;
}

/** Nodes and commands that share a store. Their folder has the signing key and the files that are imported. */
function cluster(folder: string, store: string) {
  const env = { ...process.env, ASSAY_DIR: folder, ASSAY_STORE: store };
  const assay = (...args: string[]) => execFileSync(program, args, { env, encoding: 'utf8' });
  let files = 0;
  const ends: (() => Promise<void>)[] = [];
  return {
    assay,
    /** Receives verified rentals of H100 SXM. */
    receive(rentals: Rental[]) {
      const name = join(folder, `rentals-${files++}.csv`);
      const rows = rentals.map(
        ({ at, price }, i) =>
          `${files}-${i},feed,${new Date(at).toISOString()},H100 SXM,us-east,${price},1,1,Alder,true`,
      );
      writeFileSync(
        name,
        ['id,source,executed_at,gpu_name,region,price,gpus,hours,provider,verified', ...rows, ''].join('\n'),
      );
      assay('import', 'transactions', name);
    },
    /** Starts a node and returns its address. */
    async node(role: 'publish' | 'read'): Promise<string> {
      const child = spawn(program, ['serve', '--addr', '127.0.0.1:0', '--role', role], {
        env,
        stdio: ['ignore', 'pipe', 'ignore'],
      });
      ends.push(
        () =>
          new Promise((done) => {
            child.once('exit', () => done());
            child.kill('SIGTERM');
          }),
      );
      const address = await new Promise<string>((found, failed) => {
        child.once('exit', (code) => failed(new Error(`the ${role} node ended with code ${code}`)));
        createInterface({ input: child.stdout }).on('line', (line) => {
          const listening = / at (http:\S+)$/.exec(line);
          if (listening) found(listening[1]!);
        });
      });
      return address;
    },
    end: () => Promise.all(ends.map((end) => end())),
  };
}

/** A balancer on loopback, which gives each connection to the next node. */
async function balancer(nodes: string[]) {
  let next = 0;
  const server = createServer((client) => {
    const { hostname, port } = new URL(nodes[next++ % nodes.length]!);
    const upstream = connect(Number(port), hostname);
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      one.on('error', () => other.destroy());
      one.on('close', () => other.destroy());
      one.pipe(other);
    }
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return { base: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close: () => server.close() };
}

test('behind two nodes an open page shows a print, a fixing and a restatement', async ({ browser }) => {
  test.setTimeout(180_000); // it waits for the end of a minute
  const server = process.env.ASSAY_TEST_POSTGRES;
  if (!server) throw new Error('ASSAY_TEST_POSTGRES is not set: run this test with make e2e');
  const database = `assay_e2e_${process.pid}_${Date.now()}`;
  execFileSync('psql', ['-q', '-d', server, '-c', `CREATE DATABASE ${database}`]);
  const store = new URL(server);
  store.pathname = `/${database}`;
  const folder = newFolder();
  const nodes = cluster(folder, store.href);
  try {
    await follow(nodes, browser);
  } finally {
    await nodes.end();
    execFileSync('psql', ['-q', '-d', server, '-c', `DROP DATABASE ${database} WITH (FORCE)`]);
    remove(folder);
  }
});

async function follow(nodes: ReturnType<typeof cluster>, browser: Browser): Promise<void> {
  const now = Date.now();
  nodes.assay('init');
  nodes.receive(Array.from({ length: 40 * 24 }, (_, i) => ({ at: now - i * hour, price: 2 + (i % 7) / 100 })));
  const day = (before: number) => new Date(now - before * 24 * hour).toISOString().slice(0, 10);
  nodes.assay('publish', '--from', day(39), '--to', day(5));
  const password = nodes.assay('account', 'add', 'reader@example.com').trim();
  nodes.assay('grant', 'add', 'reader@example.com', 'full');
  const entry = await balancer([await nodes.node('read'), await nodes.node('read')]);

  const context = await browser.newContext({ baseURL: entry.base });
  const page = await context.newPage();
  const email = 'reader@example.com';
  expect((await page.request.post('/api/session', { data: { email, password } })).status()).toBe(200);
  const next = 'correct horse battery staple';
  await page.request.put('/api/account/password', { data: { current: password, next } });
  await open(page, '/gpu/H100%20SXM?range=1M&grain=daily');
  const chart = page.getByRole('img', { name: /^H100 SXM · .*· daily/ });
  await expect(page.getByText(/^Live · /)).toBeVisible();
  const delays: string[] = [];
  /** Notes how long after a command, or after the end of a minute, the page shows something. */
  const shows = async (what: string, since: number, shown: Promise<void>) => {
    await shown;
    delays.push(`${what} ${((Date.now() - since) / 1000).toFixed(2)} s`);
  };

  const older = (await chart.getAttribute('aria-label'))!;
  nodes.assay('publish', '--from', day(5));
  await shows('fixing', Date.now(), expect(chart).not.toHaveAttribute('aria-label', older));

  await nodes.node('publish');
  const prints = page.getByRole('region', { name: 'Real time' });
  await expect(prints).toContainText(/\d\d:\d\d UTC/, { timeout: 90_000 });
  const end = (Math.floor(Date.now() / minute) + 1) * minute;
  const print = `${new Date(end).toISOString().slice(11, 16)} UTC`;
  await shows('print', end, expect(prints).toContainText(print, { timeout: 90_000 }));

  const figures = page.getByLabel('H100 SXM in this range');
  const before = await figures.innerText();
  nodes.receive([{ at: now - 72 * hour, price: 9 }]);
  nodes.assay('restate', '--gpu', 'H100 SXM', '--from', day(4), '--to', day(1), '--reason', 'a late rental');
  await shows('restatement', Date.now(), expect(figures).not.toHaveText(before, { useInnerText: true }));
  console.log(`shown behind two nodes: ${delays.join(', ')}`);

  await context.close();
  entry.close();
}
