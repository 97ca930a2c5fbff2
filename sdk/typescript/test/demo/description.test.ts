// The routes of the client are those of the API description and of the list of names.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { before, describe, test } from 'node:test';
import { Client } from '@assaydata/client';
import { routes } from '../../dist/routes.js';
import { url } from './demo.js';

interface Operation {
  parameters?: { $ref: string }[];
  responses: Record<string, { content?: Record<string, unknown> }>;
  deprecated?: boolean;
}

interface Description {
  paths: Record<string, { get?: Operation }>;
  components: { parameters: Record<string, { name: string; in: string; required?: boolean }> };
}

// Routes that are no market data: for probes, for mirrors of the log, for the server's own pages and those of others, and
// the description.
const others =
  /^\/(livez|readyz|openapi\.|log\/|s\/|embed\/|oembed$|api\/(session|account|keys|create-api-key|usage|alerts|webhooks|share-links|watchlist|views|gpu-overview)(\/|$))/;

describe('the API description', () => {
  let description: Description;
  before(async () => {
    description = (await (await fetch(`${url}/openapi.json`)).json()) as Description;
  });

  const parametersOf = ({ parameters = [] }: Operation) =>
    parameters.map(({ $ref }) => description.components.parameters[$ref.split('/').at(-1) ?? '']!);

  test('has a method for each route', () => {
    const wanted = Object.entries(description.paths).flatMap(([path, { get }]) =>
      get && 'application/json' in (get.responses['200']?.content ?? {}) && !get.deprecated && !others.test(path)
        ? [path]
        : [],
    );
    assert.deepEqual(
      Object.values(routes)
        .map(({ path }) => path as string)
        .sort(),
      wanted.sort(),
    );
  });

  for (const [name, { path, query, table }] of Object.entries(routes)) {
    test(`has the parameters of ${name}`, () => {
      const operation = description.paths[path]?.get;
      assert.ok(operation);
      // Spellings of gpuType for callers who guess, and the format of tables.
      const aliases = name === 'dailyIndex' ? ['gpu', 'gpu_type', 'gpu_name', 'format'] : ['format'];
      const inQuery = parametersOf(operation).filter((parameter) => parameter.in === 'query');
      const wanted = inQuery.map((parameter) => parameter.name).filter((parameter) => !aliases.includes(parameter));
      assert.deepEqual(Object.values(query).sort(), wanted.sort());
      assert.equal('text/csv' in (operation.responses['200']?.content ?? {}), table);
      const inPath = parametersOf(operation).filter((parameter) => parameter.in === 'path');
      assert.deepEqual(
        path.match(/(?<=\{)\w+/g) ?? [],
        inPath.map((parameter) => parameter.name),
      );
    });
  }
});

test('every name of the list is a method', () => {
  const list = readFileSync('../NAMES.md', 'utf8');
  const rows = [...list.matchAll(/^\| (?!name)([a-zA-Z0-9, `]+) \|/gm)].map(([, names]) => names ?? '');
  const names = rows.flatMap((row) => row.replaceAll('`', '').split(', '));
  assert.deepEqual(names.filter((name) => name in routes).sort(), Object.keys(routes).sort());
  const own = Object.getOwnPropertyNames(Client.prototype).filter((name) => !['constructor', 'url'].includes(name));
  assert.deepEqual(own.sort(), names.sort());
});
