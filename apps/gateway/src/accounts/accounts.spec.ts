import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startTestRedis, type TestRedis } from '../../../../test/support/redis-server.js';
import { startTestGateway, type TestGateway } from '../fixtures/gateway.js';

let server: TestRedis;
let gateway: TestGateway;

beforeAll(async () => {
  server = await startTestRedis();
  gateway = await startTestGateway({ redisUrl: server.url });
});
afterAll(async () => {
  await gateway.dispose();
  await server.dispose();
});

const confirm = (account: string): Promise<Response> =>
  gateway.fetch(`/v1/accounts/${account}/confirm-deletions`, { method: 'POST' });
const believedAt = (): Promise<string | null> =>
  gateway.redis.hget('tidings:{default}:contact-list', 'believedAt');

describe('confirming deletions', () => {
  it('is noted for the feed, with the time', async () => {
    expect(await believedAt()).toBeNull();
    expect((await confirm('default')).status).toBe(204);
    expect(Number(await believedAt())).toBeGreaterThan(0);
  });

  it('of another account is not possible', async () => {
    expect((await confirm('other')).status).toBe(404);
  });
});
