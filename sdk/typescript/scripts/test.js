// Builds the package and runs its tests: those with servers of their own, and those with a demo of the real program, which
// ASSAY_BINARY names. The demo starts first, because it takes some seconds.
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';

const folder = resolve(import.meta.dirname, '..');
const scratch = mkdtempSync(join(tmpdir(), 'assay-sdk-'));
const binary = process.env.ASSAY_BINARY;
if (!binary) {
  console.error('test: set ASSAY_BINARY to the program, such as ../../bin/assay, or run make sdk-ts');
  process.exit(2);
}
// Nothing of the caller's environment: it may name another server.
delete process.env.ASSAY_URL;
delete process.env.ASSAY_KEY;

const log = join(scratch, 'assay.log');
const keys = join(scratch, 'keys.json');
const data = join(scratch, 'data');
execFileSync(resolve(folder, '../../scripts/demo-market'), [data], {
  env: { ...process.env, ASSAY_TEST_BINARY: resolve(binary) },
});
const demo = spawn(
  resolve(binary),
  [
    ...['demo', '--dir', data, '--addr', '127.0.0.1:0', '--keys-file', keys, '--log-file', log],
    // The market that the README shows.
    ...['--no-feed', '--seed', '1', '--end', '2026-11-01T12:01:00Z'],
    // Each test has an address of its own, and so a rate limit of its own.
    ...['--trusted-proxies', '127.0.0.1/32', '--access-log', 'off'],
  ],
  { cwd: scratch, stdio: ['ignore', 'pipe', 'inherit'] },
);

/** The address that the demo prints when it serves. */
const address = new Promise((done, failed) => {
  demo.on('error', failed);
  demo.on('exit', (code) => failed(new Error(`test: the demo ended with status ${code}`)));
  createInterface(demo.stdout).on('line', (line) => {
    const found = /^ *address +(http:\S+)$/.exec(line);
    if (found) done(found[1]);
  });
});
address.catch(() => undefined); // it is awaited later

function stop() {
  demo.kill('SIGKILL');
  rmSync(scratch, { recursive: true, force: true, maxRetries: 5 });
}
process.on('exit', stop);
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(1));

/** Runs a program without blocking the demo's output. */
function run(args, env = {}) {
  return new Promise((done) => {
    const options = { cwd: folder, stdio: 'inherit', env: { ...process.env, ...env } };
    spawn(process.execPath, args, options).on('exit', (code) => done(code === 0));
  });
}

const testRunner = ['--test', '--test-concurrency=2', '--test-reporter=dot'];

function testFiles(name) {
  const all = readdirSync(join(folder, 'build', name)).filter((file) => file.endsWith('.test.js'));
  return all.map((file) => join('build', name, file));
}

async function main() {
  rmSync(join(folder, 'build'), { recursive: true, force: true });
  if (!(await run(['scripts/build.js']))) return false;
  if (!(await run(['node_modules/typescript/bin/tsc', '-p', 'tsconfig.test.json']))) return false;
  const unit = await run([...testRunner, ...testFiles('unit')]);
  const url = await address;
  const { full, premium, revoked } = JSON.parse(readFileSync(keys, 'utf8'));
  const env = { TEST_URL: url, TEST_FULL: full, TEST_PREMIUM: premium, TEST_REVOKED: revoked };
  const whole = await run([...testRunner, ...testFiles('demo')], env);
  return unit && whole;
}

main().then(
  (passed) => process.exit(passed ? 0 : 1),
  (error) => {
    console.error(error);
    process.exit(1);
  },
);
