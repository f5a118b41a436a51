import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { Validator } from '@seriousme/openapi-schema-validator';
import { ApiCheck, type ApiDocument } from '../../../../test/support/openapi.js';
import { startTestRedis, type TestRedis } from '../../../../test/support/redis-server.js';
import { startTestGateway, type TestGateway } from '../fixtures/gateway.js';

let redis: TestRedis;
let gateway: TestGateway;
let check: ApiCheck;

beforeAll(async () => {
  redis = await startTestRedis();
  gateway = await startTestGateway({ redisUrl: redis.url });
  const reply = await gateway.fetch('/docs/openapi.json', { key: null });
  check = new ApiCheck((await reply.json()) as ApiDocument);
});

afterAll(async () => {
  await gateway.dispose();
  await redis.dispose();
});

/** Serve the document itself, and the pages. */
const PAGES = /^\S+ \/(docs|console)(\/|-|$)/;
/** Come with every GET by themselves, and are of no operation. */
const IMPLIED = /^(head|options) /;

describe('The OpenAPI document', () => {
  it('is valid by the schema of OpenAPI 3.1', async () => {
    const validator = new Validator();
    const result = await validator.validate(
      structuredClone(check.document) as unknown as Record<string, unknown>,
    );
    expect(result).toEqual({ valid: true });
    expect(validator.version).toBe('3.1');
  });

  it('has every route of the server, and no other', () => {
    const served = routesOf(gateway.app).filter((route) => !PAGES.test(route) && !IMPLIED.test(route));
    const documented = check.operations().map(({ method, path }) => `${method} ${path}`);
    expect(served.length).toBeGreaterThan(20);
    expect(documented.sort()).toEqual(served.sort());
  });

  it('names each operation once, by a word of its own', () => {
    const ids = check.operations().map(({ operation }) => operation.operationId);
    expect(ids.filter((id, i) => ids.indexOf(id) !== i)).toEqual([]);
    for (const id of ids) expect(id).toMatch(/^[a-z][A-Za-z]+$/);
  });

  it('has every parameter of every path', () => {
    for (const { path, operation } of check.operations()) {
      const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      const documented = (operation.parameters ?? [])
        .filter((one) => one.in === 'path')
        .map(({ name }) => name);
      expect([path, documented.sort()]).toEqual([path, named.sort()]);
    }
  });

  it('gives only examples that its own schemas allow', () => {
    const found = examplesIn(check.document, []);
    expect(found.length).toBeGreaterThan(30);
    for (const { place, example } of found) {
      expect([place.join('/'), check.faultOf(place, example)]).toEqual([place.join('/'), undefined]);
    }
  });
});

/** What the server's own print of its routes says: `get /v1/sends/{id}`. */
function routesOf(app: NestFastifyApplication): string[] {
  const above: string[] = [];
  return app
    .getHttpAdapter()
    .getInstance()
    .printRoutes({ commonPrefix: false })
    .split('\n')
    .flatMap((line) => {
      const [, indent = '', segment = '', methods = ''] = /^(.*)[├└]── (\S*)(?: \((.+)\))?$/.exec(line) ?? [];
      above.splice(indent.length / 4, Infinity, segment);
      const address = above.join('').replace(/:(\w+)/g, '{$1}');
      return methods === '' || methods === '-'
        ? []
        : methods.split(', ').map((method) => `${method.toLowerCase()} ${address}`);
    });
}

interface Example {
  /** Of the schema that it is one of. */
  place: readonly string[];
  example: unknown;
}

/** Every `example` of a schema in the document, and of a body beside one. */
function examplesIn(value: unknown, place: readonly string[]): Example[] {
  if (typeof value !== 'object' || value === null) return [];
  const found: Example[] = [];
  if ('example' in value && !place.includes('example')) {
    const isBody = 'schema' in value;
    const isText = isBody && place.at(-1) === 'text/event-stream';
    if (!isText) found.push({ place: isBody ? [...place, 'schema'] : place, example: value.example });
  }
  if ('default' in value && 'type' in value) found.push({ place, example: value.default });
  return [
    ...found,
    ...Object.entries(value).flatMap(([key, item]) =>
      key === 'example' ? [] : examplesIn(item, [...place, key]),
    ),
  ];
}
