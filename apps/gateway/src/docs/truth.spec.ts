import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { Validator } from '@seriousme/openapi-schema-validator';
import { ApiCheck, type ApiDocument, type ApiSchema } from '../../../../test/support/openapi.js';
import { startTestRedis, type TestRedis } from '../../../../test/support/redis-server.js';
import { json, startTestGateway, type TestGateway } from '../fixtures/gateway.js';

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

/** Routes of the documentation and the console, which are not part of the API. */
const PAGES = /^\S+ \/(docs|console)(\/|-|\*|$)/;
/** HEAD and OPTIONS routes, which exist for every GET route and are not operations of their own. */
const IMPLIED = /^(head|options) /;

describe('The OpenAPI document', () => {
  it('is valid according to the OpenAPI 3.1 schema', async () => {
    const validator = new Validator();
    const result = await validator.validate(
      structuredClone(check.document) as unknown as Record<string, unknown>,
    );
    expect(result).toEqual({ valid: true });
    expect(validator.version).toBe('3.1');
  });

  it('documents exactly the routes of the API', () => {
    const served = routesOf(gateway.app).filter((route) => !PAGES.test(route) && !IMPLIED.test(route));
    const documented = check.operations().map(({ method, path }) => `${method} ${path}`);
    expect(served.length).toBeGreaterThan(20);
    expect(documented.sort()).toEqual(served.sort());
  });

  it('has a unique operationId for each operation', () => {
    const ids = check.operations().map(({ operation }) => operation.operationId);
    expect(ids.filter((id, i) => ids.indexOf(id) !== i)).toEqual([]);
    for (const id of ids) expect(id).toMatch(/^[a-z][A-Za-z]+$/);
  });

  it('has an example of each request body, and the schema of the body allows the example', () => {
    const bodies = check.operations().flatMap(({ path, method, operation }) =>
      Object.entries(operation.requestBody?.content ?? {}).map(([type, { example }]) => ({
        path,
        method,
        type,
        example,
      })),
    );
    expect(bodies.length).toBeGreaterThan(10);
    for (const { path, method, type, example } of bodies) {
      const place = ['paths', path, method, 'requestBody', 'content', type, 'schema'];
      expect([path, typeof example, check.validationError(place, example)]).toEqual([
        path,
        'object',
        undefined,
      ]);
    }
  });

  it('says that an optional field of a JSON body may be null exactly if the gateway accepts null for this field', async () => {
    const checked: string[] = [];
    for (const { path, method, operation } of check.operations()) {
      const content = operation.requestBody?.content['application/json'];
      if (content === undefined) continue;
      const { properties = {}, required = [] } = check.resolved(content.schema);
      const faultsWith = async (field: string, value: null | undefined): Promise<unknown> => {
        const body = { ...(content.example as object), [field]: value };
        const request = { ...json(body), method: method.toUpperCase() };
        const reply = await gateway.fetch(path.replace('{id}', 'unknown'), request);
        const { errors = [] } = (await reply.json()) as { errors?: { field: string }[] };
        return errors.filter((fault) => fault.field === field);
      };
      for (const [field, schema] of Object.entries(properties)) {
        const faults = [await faultsWith(field, null), await faultsWith(field, undefined)];
        const isAccepted = isDeepStrictEqual(faults[0], faults[1]) && !required.includes(field);
        const isDocumented = [schema.type].flat().includes('null');
        expect([path, field, isAccepted]).toEqual([path, field, isDocumented]);
        checked.push(field);
      }
    }
    expect(checked.length).toBeGreaterThan(30);
  });

  it('documents exactly the methods that the Allow header of each URL lists, except HEAD', async () => {
    for (const path of new Set(check.operations().map((one) => one.path))) {
      const methods = check
        .operations()
        .filter((one) => one.path === path)
        .map(({ method }) => method.toUpperCase());
      // HEAD is implied by GET.
      const allowed = methods.includes('GET') ? [...methods, 'HEAD'] : methods;
      for (const method of ['OPTIONS', 'PUT']) {
        const reply = await gateway.fetch(path.replace('{id}', 'unknown'), { method });
        const listed = reply.headers.get('allow')?.split(', ');
        expect([path, reply.status, listed]).toEqual([path, 405, allowed.toSorted()]);
      }
    }
  });

  it('documents every path parameter', () => {
    for (const { path, operation } of check.operations()) {
      const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      const documented = (operation.parameters ?? [])
        .filter((one) => one.in === 'path')
        .map(({ name }) => name);
      expect([path, documented.sort()]).toEqual([path, named.sort()]);
    }
  });

  it('allows null in each field of a message but the id, because values of the messaging service are passed on unchanged', async () => {
    const { properties = {} } = check.document.components.schemas['Message'] as ApiSchema;
    const nulls = Object.keys(properties).flatMap((field) => (field === 'id' ? [] : [[field, null]]));
    expect(nulls.length).toBeGreaterThan(7);
    const empty = { ...(Object.fromEntries(nulls) as object), id: 'm1' };
    const flags = { id: 'm2', status: { read: null, delivered: null } };
    for (const message of [empty, flags]) {
      const event = {
        ...{
          id: 'evt_1',
          type: 'message.received',
          timestamp: '2030-01-01T00:00:00.000Z',
          account: 'default',
        },
        ...{ contactId: 'c1', sequence: 1, data: { contactId: 'c1', message } },
      };
      check.expectDelivery('message.received', JSON.stringify(event));
    }
    gateway.upstream.reply = JSON.stringify({ messages: [empty, flags] });
    expect((await gateway.fetch('/v1/contacts/c1/messages')).status).toBe(200);
  });

  it('has only examples that are valid for their schemas', () => {
    const found = examplesIn(check.document, []);
    expect(found.length).toBeGreaterThan(30);
    for (const { place, example } of found) {
      expect([place.join('/'), check.validationError(place, example)]).toEqual([place.join('/'), undefined]);
    }
  });
});

/** Parses the route listing of the server. Returns routes such as `get /v1/sends/{id}`. */
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
  /** Path of the schema in the document. */
  place: readonly string[];
  example: unknown;
}

/** Collects every `example` and `default` of a schema or body in the document. */
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
