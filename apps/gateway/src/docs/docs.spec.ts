import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { EVENT_TYPES } from '#events';
import { startTestRedis, type TestRedis } from '../../../../test/support/redis-server.js';
import { startTestGateway, type TestGateway } from '../fixtures/gateway.js';

let redis: TestRedis;
let gateway: TestGateway;

beforeAll(async () => {
  redis = await startTestRedis();
  gateway = await startTestGateway({ redisUrl: redis.url });
});

afterAll(async () => {
  await gateway.dispose();
  await redis.dispose();
});

interface Document {
  openapi: string;
  paths: Record<
    string,
    Record<string, { responses: Record<string, unknown>; requestBody?: { content: object } }>
  >;
  webhooks: Record<string, { post: { parameters: { name: string }[]; requestBody: object } }>;
  components: { schemas: Record<string, unknown>; securitySchemes: Record<string, unknown> };
}

const document = async (): Promise<Document> =>
  (await (await gateway.fetch('/docs/openapi.json', { key: null })).json()) as Document;

describe('The OpenAPI document', () => {
  it('has version 3.1, the security schemes for API keys and tokens, and every operation with its error responses', async () => {
    const { openapi, paths, components } = await document();
    expect(openapi).toBe('3.1.0');
    expect(components.securitySchemes).toEqual({
      apiKey: { type: 'apiKey', in: 'header', name: 'X-API-Key' },
      bearerAuth: { type: 'http', scheme: 'bearer', description: expect.any(String) },
    });
    const operations = Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { responses }]) => ({ name: `${method} ${path}`, responses })),
    );
    expect(operations.map(({ name }) => name).sort()).toEqual([
      'delete /v1/accounts/{id}',
      'delete /v1/api-keys/{id}',
      'delete /v1/tokens/{id}',
      'delete /v1/webhooks/{id}',
      'get /health/live',
      'get /health/ready',
      'get /metrics',
      'get /v1/accounts',
      'get /v1/accounts/{id}',
      'get /v1/api-keys',
      'get /v1/audit',
      'get /v1/caller',
      'get /v1/contacts',
      'get /v1/contacts/{id}',
      'get /v1/contacts/{id}/messages',
      'get /v1/conversations',
      'get /v1/conversations/{id}',
      'get /v1/conversations/{id}/timeline',
      'get /v1/deliveries',
      'get /v1/deliveries/{id}',
      'get /v1/events',
      'get /v1/events/stream',
      'get /v1/events/{id}',
      'get /v1/sends',
      'get /v1/sends/{id}',
      'get /v1/stats',
      'get /v1/status',
      'get /v1/webhooks',
      'get /v1/webhooks/{id}',
      'get /v1/webhooks/{id}/deliveries',
      'get /v1/webhooks/{id}/secret',
      'patch /v1/accounts/{id}',
      'patch /v1/webhooks/{id}',
      'post /v1/accounts',
      'post /v1/accounts/{id}/confirm-deletions',
      'post /v1/api-keys',
      'post /v1/conversations/{id}/seen',
      'post /v1/deliveries/{id}/retry',
      'post /v1/messages/send',
      'post /v1/sends/resolve',
      'post /v1/sends/{id}/cancel',
      'post /v1/sends/{id}/resolve',
      'post /v1/tokens',
      'post /v1/webhooks',
      'post /v1/webhooks/{id}/deliveries',
      'post /v1/webhooks/{id}/replay',
      'post /v1/webhooks/{id}/rotate-secret',
      'post /v1/webhooks/{id}/test',
    ]);
    for (const { name, responses } of operations.filter((operation) => operation.name.includes('/v1/'))) {
      expect([name, Object.keys(responses)]).toEqual([
        name,
        expect.arrayContaining(['401', '403', '500', '503']),
      ]);
    }
    expect(Object.keys(paths['/v1/messages/send']?.post?.requestBody?.content ?? {})).toEqual([
      'application/json',
      'multipart/form-data',
    ]);
  });

  it('contains every schema that it refers to', async () => {
    const { components, ...rest } = await document();
    const references = JSON.stringify([components, rest]).matchAll(/"#\/components\/schemas\/(\w+)"/g);
    const named = [...references].map(([, name]) => name);
    expect(named.length).toBeGreaterThan(0);
    for (const name of named) expect(components.schemas).toHaveProperty(String(name));
  });

  it('lets callers set every field of a webhook that is not read-only, when they create it and later', async () => {
    const { schemas } = (await document()).components;
    const fieldsOf = (schema: string): string[] => {
      const { properties } = schemas[schema] as { properties: object };
      return Object.keys(properties).sort();
    };
    const readOnly = [
      'id',
      'disabledReason',
      'createdAt',
      'updatedAt',
      'failingSince',
      'lastSuccessAt',
      'pausedUntil',
      'waitingSince',
      'pending',
    ];
    const settable = fieldsOf('Webhook').filter((name) => !readOnly.includes(name));
    expect([fieldsOf('NewWebhook'), fieldsOf('WebhookChanges')]).toEqual([settable, settable]);
  });
});

describe('The webhooks section of the OpenAPI document', () => {
  it('has every event type with its schema and signature headers', async () => {
    const { webhooks, components } = await document();
    expect(Object.keys(webhooks)).toEqual([...EVENT_TYPES]);
    for (const [type, { post }] of Object.entries(webhooks)) {
      expect(post.parameters.map(({ name }) => name)).toEqual([
        'webhook-id',
        'webhook-timestamp',
        'webhook-signature',
        'traceparent',
      ]);
      const [, schema] = /#\/components\/schemas\/(\w+)/.exec(JSON.stringify(post.requestBody)) ?? [];
      expect(components.schemas[String(schema)]).toMatchObject({ properties: { type: { enum: [type] } } });
    }
  });
});

describe('The documentation page at /docs', () => {
  it('does not keep the API key in the browser', async () => {
    const settings = await (await gateway.fetch('/docs/page.js', { key: null })).text();
    expect(settings).toContain('persistAuthorization: false');
  });

  it('loads all its resources from the gateway', async () => {
    const page = await (await gateway.fetch('/docs', { key: null })).text();
    const parts = [...page.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, address]) => String(address));
    expect(parts.length).toBeGreaterThan(2);
    for (const part of parts) {
      expect(part).not.toMatch(/^(https?:)?\/\//);
      const response = await gateway.fetch(new URL(part, 'http://x/docs').pathname, { key: null });
      expect([part, response.status]).toEqual([part, 200]);
      await response.arrayBuffer();
    }
  });
});
