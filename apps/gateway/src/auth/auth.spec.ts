import { request as httpRequest } from 'node:http';
import { Controller, Get } from '@nestjs/common';
import { APP_FILTER, NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { InMemoryApiKeyAuthenticator, API_KEY_SCOPES } from '#accounts';
import { createLogger } from '#platform';
import { startTestRedis, type TestRedis } from '../../../../test/support/redis-server.js';
import { describeApi } from '../docs/openapi.js';
import {
  EMPTY_KEY,
  json,
  KEY,
  OTHER_KEY,
  problemOf,
  startTestGateway,
  type TestGateway,
} from '../fixtures/gateway.js';
import { createServer } from '../http/server.js';
import { ProblemFilter } from '../problems/problem.filter.js';
import { LOGGER } from '../tokens.js';
import { useAuthentication } from './authentication.js';
import { Authenticator } from './authenticator.js';
import { Public } from './require-scope.js';

const LOG = createLogger('gateway', 'silent');
const FILTERED = [
  { provide: LOGGER, useValue: LOG },
  { provide: APP_FILTER, useClass: ProblemFilter },
];

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

/** Every operation under /v1, from the OpenAPI document. */
function operations(): { method: string; path: string }[] {
  return Object.entries(describeApi(gateway.app).paths)
    .filter(([path]) => path.startsWith('/v1'))
    .flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => ({
        method: method.toUpperCase(),
        path: path.replace('{id}', 'x'),
      })),
    );
}

describe('An API key', () => {
  it('is required for every operation under /v1: 401 without a key, 403 without the required scope', async () => {
    expect(operations().length).toBeGreaterThanOrEqual(11);
    for (const { method, path } of operations()) {
      const missing = await gateway.fetch(path, { method, key: null });
      expect([path, await problemOf(missing)]).toMatchObject([
        path,
        { status: 401, code: 'unauthenticated' },
      ]);
      const unknown = await gateway.fetch(path, { method, key: 'nobodys' });
      expect(await problemOf(unknown)).toMatchObject({ status: 401, code: 'unauthenticated' });
      const powerless = await gateway.fetch(path, { method, key: EMPTY_KEY });
      expect([path, await problemOf(powerless)]).toMatchObject([path, { status: 403, code: 'forbidden' }]);
    }
  });

  it.each([
    ['is missing', undefined, 401],
    ['lacks the required scope', EMPTY_KEY, 403],
  ])('that %s causes an error before the request body is read', async (_, key, status) => {
    const answered = await new Promise<number | undefined>((resolve, reject) => {
      const request = httpRequest(`${gateway.url}/v1/messages/send`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'content-length': '1000',
          ...(key === undefined ? {} : { 'x-api-key': key }),
        },
      });
      request.once('response', (response) => {
        resolve(response.statusCode);
        request.destroy();
      });
      request.once('error', reject);
      // The body is never sent.
      request.flushHeaders();
    });
    expect(answered).toBe(status);
  });

  it('is checked after the URL and the method: without a key, an unknown URL causes 404 and an unsupported method 405', async () => {
    expect((await gateway.fetch('/v1/nothing', { key: null })).status).toBe(404);
    expect((await gateway.fetch('/v1/sends', { method: 'DELETE', key: null })).status).toBe(405);
  });

  it('gives access only to objects of its own account; an object of another account causes 404', async () => {
    const sent = await gateway.fetch(
      '/v1/messages/send',
      json({ phoneNumber: '+14155550123', message: 'hi' }),
    );
    const path = String(sent.headers.get('location'));
    expect((await gateway.fetch(path)).status).toBe(200);
    expect(await problemOf(await gateway.fetch(path, { key: OTHER_KEY }))).toMatchObject({ status: 404 });
  });
});

describe('A handler under /v1 that declares no required scope', () => {
  it('rejects an API key with all scopes, even if the handler is marked as public', async () => {
    @Controller('v1/forgotten')
    class Forgotten {
      @Get()
      @Public()
      get(): string {
        return 'open';
      }
    }
    const app = await NestFactory.create<NestFastifyApplication>(
      { module: Forgotten, controllers: [Forgotten], providers: FILTERED },
      createServer(LOG, { uploadMaxBytes: 1, upstreamTimeoutMs: 1, origins: [] }),
      { logger: false, abortOnError: false, bodyParser: false },
    );
    const keys = new InMemoryApiKeyAuthenticator([
      { id: 'k', key: KEY, account: 'default', scopes: API_KEY_SCOPES },
    ]);
    const none = (): Promise<undefined> => Promise.resolve(undefined);
    const [noTokens, noSessions] = [{ authenticate: none }, { authenticate: none, find: none }];
    const unlimited = {
      count: () => Promise.resolve({ isOver: false, limit: 1, remaining: 1, resetMs: 0 }),
    };
    useAuthentication(
      app.getHttpAdapter().getInstance(),
      new Authenticator(keys, noTokens, noSessions),
      { apiKey: unlimited, token: unlimited },
      { note: () => undefined },
    );
    await app.init();
    const reply = await app.inject({ path: '/v1/forgotten', headers: { 'x-api-key': KEY } });
    await app.close();
    expect(JSON.parse(reply.body)).toMatchObject({ status: 403, code: 'forbidden' });
  });
});
