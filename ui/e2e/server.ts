import { spawn, type ChildProcess } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';

/** The moment that the tests live at: some minutes after a fixing. */
export const now = '2026-11-14T21:20:00Z';

const program = resolve(import.meta.dirname, '../../bin/assay');

/** What the demo tells of itself. */
export interface DemoKeys {
  premium: string;
  full: string;
  revoked: string;
  accounts: { email: string; password: string; plan: string }[];
}

export interface Server {
  base: string;
  folder: string;
  keys: DemoKeys;
  /** What the program has written to its log. */
  log(): string;
  stop(): Promise<void>;
}

/** Starts the program on a folder, at a moment, and waits until it answers. */
export async function startDemo(folder: string, end = now): Promise<Server> {
  const keysFile = join(folder, 'keys.json');
  const child = spawn(program, [
    'demo',
    '--dir',
    folder,
    '--end',
    end,
    '--no-feed',
    '--addr',
    '127.0.0.1:0',
    '--keys-file',
    keysFile,
    '--trusted-proxies',
    '127.0.0.0/8', // every test is a client of its own
  ]);
  let log = '';
  child.stderr.on('data', (text: Buffer) => (log += text.toString()));
  const base = await firstAddress(child, () => log);
  return {
    base,
    folder,
    keys: JSON.parse(readFileSync(keysFile, 'utf8')) as DemoKeys,
    log: () => log,
    stop: () =>
      new Promise((done) => {
        child.once('exit', () => done());
        child.kill('SIGTERM');
      }),
  };
}

/** Copies the market into a folder of the caller's own. */
export function copyOfMarket(): string {
  const folder = mkdtempSync(join(tmpdir(), 'assay-e2e-'));
  cpSync(process.env.ASSAY_E2E_MARKET!, folder, { recursive: true });
  return folder;
}

/** Removes a folder that nobody serves any more. */
export function remove(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
}

function firstAddress(child: ChildProcess, log: () => string): Promise<string> {
  return new Promise((found, failed) => {
    child.once('exit', (code) => failed(new Error(`assay demo ended with ${code}: ${log()}`)));
    createInterface({ input: child.stdout! }).on('line', (line) => {
      const address = /address\s+(http:\S+)/.exec(line);
      if (address) found(address[1]!);
    });
  });
}
