import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startTestRedis, type TestRedis } from '../../../../test/support/redis-server.js';
import { problemOf, startTestGateway, type TestGateway } from '../fixtures/gateway.js';

const ORIGIN = 'https://app.example.com';

let redis: TestRedis;
let closed: TestGateway;
let open: TestGateway;

beforeAll(async () => {
  redis = await startTestRedis();
  closed = await startTestGateway({ redisUrl: redis.url });
  open = await startTestGateway({ redisUrl: redis.url, environment: { CORS_ORIGINS: ORIGIN } });
});

afterAll(async () => {
  await open.dispose();
  await closed.dispose();
  await redis.dispose();
});

const preflight = {
  method: 'OPTIONS',
  key: null,
  headers: {
    origin: ORIGIN,
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'x-api-key,content-type',
  },
};

describe('Every response', () => {
  it.each([
    ['/v1/contacts', 200, undefined],
    ['/v1/sends/x', 404, undefined],
    ['/v1/contacts', 401, null],
    ['/v1/nowhere', 404, undefined],
  ])('to %s (%i) forbids content sniffing, framing and caching', async (path, status, key) => {
    const response = await closed.fetch(path, key === undefined ? {} : { key });
    expect(response.status).toBe(status);
    expect(response.headers.get('x-content-type-options')).toBe('nosniff');
    expect(response.headers.get('x-frame-options')).toBe('DENY');
    expect(response.headers.get('cache-control')).toBe('no-store');
    await response.arrayBuffer();
  });

  it('that is a web page allows resources from the gateway only', async () => {
    const response = await closed.fetch('/docs', { key: null });
    const policy = response.headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'self'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toContain('unsafe-eval');
    expect(policy).not.toContain('upgrade-insecure-requests');
  });
});

describe('A web page of another origin', () => {
  it('cannot read responses unless CORS_ORIGINS contains the origin', async () => {
    const response = await closed.fetch('/v1/contacts', { headers: { origin: ORIGIN } });
    expect(response.headers.get('access-control-allow-origin')).toBeNull();
    const refused = await closed.fetch('/v1/contacts', preflight);
    expect(refused.headers.get('allow')).toBe('GET, HEAD');
    expect(await problemOf(refused)).toMatchObject({ status: 405 });

    const other = await open.fetch('/v1/contacts', { headers: { origin: 'https://evil.example' } });
    expect(other.headers.get('access-control-allow-origin')).toBeNull();
  });

  it('whose origin is in CORS_ORIGINS gets a reply to a preflight request, and can read responses and errors', async () => {
    const asked = await open.fetch('/v1/messages/send', preflight);
    expect(asked.status).toBe(204);
    expect(asked.headers.get('access-control-allow-origin')).toBe(ORIGIN);
    expect(asked.headers.get('access-control-allow-headers')).toContain('x-api-key');
    expect(asked.headers.get('x-request-id')).toMatch(/^[\w-]+$/);
    for (const [path, key, status] of [
      ['/v1/contacts', undefined, 200],
      ['/v1/contacts', null, 401],
      ['/v1/nowhere', undefined, 404],
    ] as const) {
      const init = { headers: { origin: ORIGIN }, ...(key === null ? { key } : {}) };
      const response = await open.fetch(path, init);
      expect(response.status).toBe(status);
      expect(response.headers.get('access-control-allow-origin')).toBe(ORIGIN);
      expect(response.headers.get('access-control-expose-headers')).toContain('X-Request-Id');
    }
  });
});
