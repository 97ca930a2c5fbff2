// Writes generated/api.ts: the types of all requests and responses, from the API description that the server embeds.
import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import openapiTS, { astToString } from 'openapi-typescript';
import ts from 'typescript';

const root = resolve(import.meta.dirname, '../..');
const output = resolve(import.meta.dirname, '../generated/api.ts');

// The server replaces these lists with the catalog of its database, so a client has to accept any name.
const catalogs = new Set(
  [
    'GpuModel',
    'RegionName',
    'LabName',
    'MemoryTypeId',
    'MemoryTypeName',
    'CodingProductId',
    'SingleCodingProductId',
  ].map((name) => `#/components/schemas/${name}`),
);

/** Finds the description: the only openapi.yaml in the server's packages. */
function findDescription() {
  const packages = join(root, 'internal');
  const found = readdirSync(packages)
    .map((name) => join(packages, name, 'openapi.yaml'))
    .filter((file) => existsSync(file));
  if (found.length !== 1) throw new Error(`expected one openapi.yaml in ${packages}/*, found ${found.length}`);
  return found[0];
}

const modified = (file) => (existsSync(file) ? statSync(file).mtimeMs : 0);

const description = findDescription();
const newestInput = Math.max(modified(description), modified(fileURLToPath(import.meta.url)));
if (modified(output) < newestInput) {
  const nodes = await openapiTS(pathToFileURL(description), {
    transform: (_, { path }) =>
      catalogs.has(path) ? ts.factory.createKeywordTypeNode(ts.SyntaxKind.StringKeyword) : undefined,
  });
  mkdirSync(dirname(output), { recursive: true });
  writeFileSync(output, `// Generated from ${relative(root, description)}. Do not edit.\n${astToString(nodes)}`);
}
