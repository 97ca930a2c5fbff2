import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, cpSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';

/** The time at which the tests run: some minutes after a fixing. */
export const now = '2026-11-14T21:20:00Z';

export const program = resolve(import.meta.dirname, '../../bin/assay');

/** The keys and accounts of the demo. */
export interface DemoKeys {
  premium: string;
  full: string;
  revoked: string;
  accounts: { email: string; password: string; plan: string }[];
}

/** A running server. It can be passed to another process as JSON. */
export interface Server {
  base: string;
  folder: string;
  logFile: string;
  keys: DemoKeys;
  /** When it began, by the clock of the machine. */
  startedAt: number;
}

/** Starts the demo on a folder, at a given time, and waits until it listens. */
export async function startDemo(folder: string, end = now): Promise<{ server: Server; stop: () => Promise<void> }> {
  const keysFile = join(folder, 'keys.json');
  const logFile = join(folder, 'server.log');
  const log = openSync(logFile, 'w');
  const child = spawn(
    program,
    [
      ...['demo', '--dir', folder, '--end', end, '--no-feed', '--addr', '127.0.0.1:0', '--keys-file', keysFile],
      ...['--trusted-proxies', '127.0.0.0/8'], // so that every test can be a different client
      ...['--webhook-allow', '127.0.0.0/8'], // the tests receive webhooks
    ],
    { stdio: ['ignore', 'pipe', log] },
  );
  closeSync(log);
  const base = await listening(child, logFile);
  return {
    server: { base, folder, logFile, keys: JSON.parse(readFileSync(keysFile, 'utf8')), startedAt: Date.now() },
    stop: () =>
      new Promise((done) => {
        child.once('exit', () => done());
        child.kill('SIGTERM');
      }),
  };
}

/** Waits for the line that prints the address. */
function listening(child: ChildProcess, logFile: string): Promise<string> {
  return new Promise((found, failed) => {
    child.once('exit', (code) =>
      failed(new Error(`assay demo ended with code ${code}: ${readFileSync(logFile, 'utf8')}`)),
    );
    createInterface({ input: child.stdout! }).on('line', (line) => {
      const address = /address\s+(http:\S+)/.exec(line);
      if (address) found(address[1]!);
    });
  });
}

export const newFolder = (): string => mkdtempSync(join(tmpdir(), 'assay-e2e-'));

/** Copies the demo's data, as it was before the tests, into a new folder. */
export function copyOfData(from = process.env.ASSAY_E2E_DATA!): string {
  const folder = newFolder();
  cpSync(from, folder, { recursive: true });
  return folder;
}

export function remove(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
}
