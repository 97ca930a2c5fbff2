// Writes generated/api.ts: the types of all requests and responses, from the API description that the server embeds.
import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import openapiTS, { astToString } from 'openapi-typescript';
import ts from 'typescript';

const root = resolve(import.meta.dirname, '../..');
const output = resolve(import.meta.dirname, '../generated/api.ts');

// The server replaces these lists with the catalog of its database, so the dashboard has to accept any name. Other lists that
// may grow are closed here: the dashboard comes with the server, and knows all words of its release.
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

/** The type of a schema whose list of words may grow: one of those words. */
function union(schema) {
  const words = schema['x-extensible-enum'];
  if (!words) return undefined;
  const types = words.map((word) => ts.factory.createLiteralTypeNode(ts.factory.createStringLiteral(word)));
  if (schema.type.includes('null')) types.push(ts.factory.createLiteralTypeNode(ts.factory.createNull()));
  return ts.factory.createUnionTypeNode(types);
}

const modified = (file) => (existsSync(file) ? statSync(file).mtimeMs : 0);

const description = findDescription();
const newestInput = Math.max(modified(description), modified(fileURLToPath(import.meta.url)));
if (modified(output) < newestInput) {
  const nodes = await openapiTS(pathToFileURL(description), {
    transform: (schema, { path }) => (catalogs.has(path) ? undefined : union(schema)),
  });
  mkdirSync(dirname(output), { recursive: true });
  writeFileSync(output, `// Generated from ${relative(root, description)}. Do not edit.\n${astToString(nodes)}`);
}
