// The package as a stranger gets it: packed, installed in a fresh folder, compiled and run with what the README shows.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';

const run = promisify(execFile);
const readme = 'README.md';
const documents = [readme, '../../docs/clients.md'];

/** An example: a program, and what it prints. */
interface Example {
  file: string;
  title: string;
  program: string;
  output: string;
  block: string;
}

/** The programs of a document, each with the output below it. */
function readExamples(file: string, markdown: string): Example[] {
  const blocks = markdown.matchAll(
    /^## (?<title>[^\n]+)|^```ts\n(?<program>.*?)^```\n\n?^```text\n(?<output>.*?)^```$/gms,
  );
  const examples: Example[] = [];
  let title = '';
  for (const { 0: block, groups } of blocks) {
    title = groups?.['title'] ?? title;
    const { program, output } = groups ?? {};
    if (program !== undefined && output !== undefined) examples.push({ file, title, program, output, block });
  }
  return examples;
}

/** The stream of a server at the end of a day, as the example shows it. */
function streamServer() {
  const event = (id: string, name: string, data: object) =>
    `id: ${id}\nevent: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
  const value = { family: 'gpu', gpu_type: 'H100 SXM', region: 'global' };
  return createServer((request, response) => {
    assert.equal(request.url, '/api/stream?event=hour%2Cday&gpu=H100%20SXM');
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    response.write(event('811-a', 'hello', { success: true, access: 'full', version: 811, heartbeat_seconds: 15 }));
    response.write(': heartbeat\n\n');
    response.write(event('812-a', 'hour', { ...value, timestamp: '2026-11-01T21:00:00.000Z', index_value: 1.9301 }));
    response.write(event('812-b', 'day', { ...value, timestamp: '2026-11-01T21:00:00.000Z', index_value: 1.9177 }));
  });
}

describe('the package', { timeout: 300_000 }, () => {
  let folder = '';
  let packed: { filename: string; files: { path: string }[] };

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'assay-app-'));
    const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', folder]);
    [packed] = JSON.parse(stdout) as [typeof packed];
    await writeFile(join(folder, 'package.json'), '{ "type": "module", "private": true }');
    await run('npm', ['install', '--offline', '--no-audit', '--no-fund', join(folder, packed.filename)], {
      cwd: folder,
    });
  });
  after(() => rm(folder, { recursive: true, force: true }));

  test('has nothing but what it needs', () => {
    const files = packed.files.map(({ path }) => path);
    const modules = files.filter((path) => path.startsWith('dist/'));
    assert.deepEqual(files.filter((path) => !path.startsWith('dist/')).sort(), [
      'LICENSE',
      'README.md',
      'package.json',
    ]);
    assert.ok(modules.includes('dist/index.js') && modules.includes('dist/generated/api.d.ts'));
    for (const path of modules) assert.match(path, /\.(js|d\.ts)$/);
  });

  test('imports nothing of Node or of others', async () => {
    const installed = join(folder, 'node_modules/@assaydata/client/dist');
    for (const file of await readdir(installed, { recursive: true })) {
      if (!file.endsWith('.js') && !file.endsWith('.d.ts')) continue;
      const text = await readFile(join(installed, file), 'utf8');
      for (const [, target] of text.matchAll(/^(?:import|export)\b[^;=(]*?\bfrom\s*['"]([^'"]+)['"]/gm)) {
        assert.match(target!, /^\.\.?\/.*\.js$/, `${file} imports ${target}`);
      }
      assert.doesNotMatch(text, /\bBuffer\b|\brequire\(|\bimport\(|__dirname/, file);
    }
  });

  test('depends on nothing', async () => {
    assert.deepEqual(await readdir(join(folder, 'node_modules')), ['.package-lock.json', '@assaydata']);
  });

  test('can be compiled without and with the types of Node', async () => {
    await compileFor(folder, 'browser', { lib: ['ES2022', 'DOM', 'DOM.Iterable'], types: [] });
    await compileFor(folder, 'node', { lib: ['ES2022'], types: ['node'], typeRoots: [resolve('node_modules/@types')] });
  });

  describe('in documents', () => {
    const examples: Example[] = [];

    before(async () => {
      for (const file of documents) {
        const text = await readFile(file, 'utf8');
        const found = readExamples(file, text);
        assert.equal(found.length, text.match(/^```ts$/gm)?.length, `${file} has a program without its output`);
        examples.push(...found);
      }
      const local = 'http://127.0.0.1:8080';
      for (const [i, { program }] of examples.entries()) {
        await writeFile(join(folder, `example${i}.ts`), program.replace(local, process.env['TEST_URL'] ?? local));
      }
      const options = {
        lib: ['ES2022', 'DOM', 'DOM.Iterable'],
        types: ['node'],
        typeRoots: [resolve('node_modules/@types')],
      };
      await compile(
        folder,
        { ...options, skipLibCheck: true },
        examples.map((_, i) => `example${i}.ts`),
      );
    });

    test('programs print what is shown', { timeout: 120_000 }, async (t) => {
      const server = streamServer();
      await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
      t.after(() => {
        server.closeAllConnections();
        server.close();
      });
      const streamUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      for (const [i, example] of examples.entries()) {
        await t.test(`${example.file}: ${example.title}`, async () => {
          const url = example.title === 'Stream' ? streamUrl : process.env['TEST_URL'];
          const env = { PATH: process.env['PATH'], ASSAY_URL: url, ASSAY_KEY: process.env['TEST_FULL'] };
          const { stdout } = await run(process.execPath, [`example${i}.js`], { cwd: folder, env });
          if (process.env['UPDATE']) await update(example, stdout);
          else assert.equal(shownAs(example.output, stdout), example.output);
        });
      }
    });
  });
});

/** The part of an output that a document shows: with … at its end, only the lines before it. */
function shownAs(document: string, output: string): string {
  const lines = document.split('\n').slice(0, -2);
  return document.endsWith('…\n') ? [...output.split('\n').slice(0, lines.length), '…', ''].join('\n') : output;
}

/** Writes what a program prints into the document, with UPDATE=1. */
async function update({ file, block, output }: Example, stdout: string): Promise<void> {
  const renewed = block.slice(0, block.length - output.length - '```'.length) + shownAs(output, stdout) + '```';
  const text = await readFile(file, 'utf8');
  await writeFile(
    file,
    text.replace(block, () => renewed),
  );
}

/** Compiles files of a folder, strictly. */
async function compile(folder: string, options: object, files: string[]): Promise<void> {
  const strict = { strict: true, noUncheckedIndexedAccess: true, target: 'ES2022', module: 'NodeNext', rootDir: '.' };
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: { ...strict, ...options }, files }));
  try {
    await run(process.execPath, [resolve('node_modules/typescript/bin/tsc')], { cwd: folder });
  } catch (error) {
    throw new Error((error as { stdout: string }).stdout || String(error), { cause: error });
  }
}

/** Compiles a program that uses the package, and checks all its types. */
async function compileFor(folder: string, name: string, options: object): Promise<void> {
  const program = `
    import { Client, type IndexPoint } from '@assaydata/client';
    const assay = new Client('https://data.example.com', { key: 'k', fetch: (url, init) => fetch(url, init) });
    export const first: Promise<IndexPoint | undefined> = assay.indexHistory('H200').then(({ data }) => data[0]);
  `;
  await mkdir(join(folder, name));
  await writeFile(join(folder, name, 'program.ts'), program);
  await compile(folder, { ...options, exactOptionalPropertyTypes: name === 'browser' }, [`${name}/program.ts`]);
}
