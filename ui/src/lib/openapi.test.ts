import { describe, expect, test } from 'vitest';
import { boundsOf, choicesOf, descriptionOf, holdsPassword, requestAddress, typeOf, type Document } from './openapi';

const document: Document = {
  info: { title: 'API', version: '1.0.0' },
  tags: [{ name: 'Prices', description: 'GPU prices.' }],
  paths: {
    '/api/gpu/{gpuName}': {
      get: {
        operationId: 'getGpuPrice',
        tags: ['Prices'],
        security: [{}, { apiKey: [] }, { session: [] }],
        parameters: [
          { name: 'gpuName', in: 'path', required: true, schema: { $ref: '#/components/schemas/Gpu' } },
          { name: 'region', in: 'query', schema: { type: 'string', default: 'global' } },
        ],
        responses: { '200': { $ref: '#/components/responses/Price' } },
      },
    },
    '/api/gpu/{gpuName}/hourly': {
      get: {
        operationId: 'getHourlyHistory',
        description: 'Hourly values. Needs a Full key.',
        security: [{ apiKey: [] }, { session: [] }],
        responses: {},
      },
    },
    '/api/session': { post: { operationId: 'createSession', security: [{ session: [] }], responses: {} } },
    '/health': { get: { operationId: 'getHealth', responses: {} } },
  },
};
const components = {
  schemas: { Gpu: { type: 'string', enum: ['H100 SXM', 'H200'], description: 'A GPU model.' } },
  responses: {
    Price: {
      description: 'The price.',
      content: { 'application/json': { schema: { type: 'object' }, example: { data: 1 } } },
    },
  },
};
const { tags, resolve } = descriptionOf(Object.assign({ components }, document));
const operation = (id: string) => tags.flatMap((tag) => tag.operations).find((one) => one.id === id)!;

test('operations are grouped by tag, those without one last', () =>
  expect(tags.map((tag) => [tag.name, tag.operations.length])).toEqual([
    ['Prices', 1],
    ['Other', 3],
  ]));

describe('references', () => {
  test('are resolved in parameters and responses', () => {
    expect(operation('getGpuPrice').parameters[0]!.schema?.enum).toEqual(['H100 SXM', 'H200']);
    expect(operation('getGpuPrice').responses).toMatchObject([
      { status: '200', type: 'application/json', examples: [{ title: 'Example', value: { data: 1 } }] },
    ]);
  });
  test('can be overridden by fields next to them', () =>
    expect(resolve({ $ref: '#/components/schemas/Gpu', description: 'Another.' })).toMatchObject({
      type: 'string',
      description: 'Another.',
    }));
  test('without a target are empty', () => expect(resolve({ $ref: '#/components/schemas/None' })).toEqual({}));
});

test('access follows from the security schemes', () =>
  expect(
    ['getGpuPrice', 'getHourlyHistory', 'createSession', 'getHealth'].map((id) => operation(id).access.label),
  ).toEqual(['Free in part', 'Full', 'Account', 'Public']));

test('types are described in words', () => {
  expect(typeOf({ type: ['string', 'null'], format: 'date-time' }, resolve)).toBe('string or null, date-time');
  expect(typeOf({ type: 'array', items: { $ref: '#/components/schemas/Gpu' } }, resolve)).toBe('array of string');
  expect(typeOf({ anyOf: [{ type: 'object' }, { type: 'null' }] }, resolve)).toBe('object or null');
});

test('limits are described in words', () => {
  expect(boundsOf({ minimum: 1, maximum: 10_000 })).toBe('from 1, to 10000');
  expect(boundsOf({ exclusiveMinimum: 0, const: true })).toBe('always true, above 0');
  expect(boundsOf({ minLength: 12, maxLength: 128 })).toBe('at least 12 characters, at most 128 characters');
});

test('choices come from lists of words and booleans', () => {
  expect(choicesOf({ $ref: '#/components/schemas/Gpu' }, resolve)).toEqual(['H100 SXM', 'H200']);
  expect(choicesOf({ enum: ['grant', null] }, resolve)).toEqual(['grant']);
  expect(choicesOf({ type: 'string', 'x-extensible-enum': ['daily', 'hourly'] }, resolve)).toEqual(['daily', 'hourly']);
  expect(choicesOf({ type: 'boolean' }, resolve)).toEqual(['true', 'false']);
  expect(choicesOf({ type: 'string' }, resolve)).toEqual([]);
});

test('a request is encoded so that it cannot end a quoted string', () =>
  expect(requestAddress(operation('getGpuPrice'), { gpuName: "H100 SXM'", region: '' })).toBe(
    '/api/gpu/H100%20SXM%27',
  ));

test('a body with a password is recognized', () => {
  expect(holdsPassword({ properties: { next: { type: 'string', format: 'password' } } })).toBe(true);
  expect(holdsPassword({ properties: { name: { type: 'string' } } })).toBe(false);
});
