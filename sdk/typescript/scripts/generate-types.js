// Writes src/generated/api.ts: the types of all responses, from the API description that the server embeds.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import openapiTS, { astToString } from 'openapi-typescript';
import ts from 'typescript';

const description = resolve(import.meta.dirname, '../../../internal/api/openapi.yaml');
const output = resolve(import.meta.dirname, '../src/generated/api.ts');

/**
 * The type of a list of words. The lists of the API grow, and the catalogs are the operator's: any other text fits too.
 * The `string & {}` keeps editors completing the words that are known.
 */
function openList(words) {
  const known = words.map((word) => ts.factory.createLiteralTypeNode(ts.factory.createStringLiteral(word)));
  const other = ts.factory.createIntersectionTypeNode([
    ts.factory.createKeywordTypeNode(ts.SyntaxKind.StringKeyword),
    ts.factory.createTypeLiteralNode([]),
  ]);
  return ts.factory.createUnionTypeNode([...known, other]);
}

const nodes = await openapiTS(pathToFileURL(description), {
  transform: (schema) => (schema.enum && schema.type === 'string' ? openList(schema.enum) : undefined),
});
mkdirSync(dirname(output), { recursive: true });
writeFileSync(output, `// Generated from internal/api/openapi.yaml. Do not edit.\n${astToString(nodes)}`);
