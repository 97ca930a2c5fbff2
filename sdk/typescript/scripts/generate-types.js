// Writes src/generated/api.ts: the types of all responses, from the API description that the server embeds.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import openapiTS, { astToString } from 'openapi-typescript';
import ts from 'typescript';

const description = resolve(import.meta.dirname, '../../../internal/api/openapi.yaml');
const output = resolve(import.meta.dirname, '../src/generated/api.ts');

/**
 * The type of a list of words that may grow, or undefined for any other schema. The catalogs are also the operator's. Any
 * other text fits too; the `string & {}` keeps editors completing the words that are known.
 */
function openList(schema) {
  const words = schema['x-extensible-enum'];
  if (!words) return undefined;
  const types = words.map((word) => ts.factory.createLiteralTypeNode(ts.factory.createStringLiteral(word)));
  types.push(
    ts.factory.createIntersectionTypeNode([
      ts.factory.createKeywordTypeNode(ts.SyntaxKind.StringKeyword),
      ts.factory.createTypeLiteralNode([]),
    ]),
  );
  if (schema.type.includes('null')) types.push(ts.factory.createLiteralTypeNode(ts.factory.createNull()));
  return ts.factory.createUnionTypeNode(types);
}

const nodes = await openapiTS(pathToFileURL(description), { transform: openList });
mkdirSync(dirname(output), { recursive: true });
writeFileSync(output, `// Generated from internal/api/openapi.yaml. Do not edit.\n${astToString(nodes)}`);
