import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startTestRedis, type TestRedis } from '../../../../test/support/redis-server.js';
import { json, problemOf, startTestGateway, type TestGateway } from '../fixtures/gateway.js';

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

const SEND = { phoneNumber: '+14155550123', message: 'Hello' };

describe('A request from one Tidings gateway to another', () => {
  it.each(['with an API key', 'without an API key'])(
    'is rejected with 508 and stores nothing (%s)',
    async (how) => {
      const key = how === 'with an API key' ? {} : { key: null };
      const send = { ...json(SEND, { 'Tidings-Gateway': '1' }), ...key };
      const refused = await gateway.fetch('/v1/messages/send', send);
      expect(await problemOf(refused)).toMatchObject({
        ...{ status: 508, code: 'loop_detected', detail: expect.stringContaining('UPSTREAM_BASE_URL') },
      });
      expect(refused.headers.get('tidings-gateway')).toBe('1');
      expect(gateway.sends.requests).toEqual([]);
    },
  );

  it('gets a response with the Tidings-Gateway header even at a URL without /v1', async () => {
    const refused = await gateway.fetch('/messages/send', json(SEND, { 'Tidings-Gateway': '1' }));
    expect([refused.status, refused.headers.get('tidings-gateway')]).toEqual([404, '1']);
  });
});

it('A client that is not a Tidings gateway is served, and the response has the Tidings-Gateway header', async () => {
  const taken = await gateway.fetch('/v1/messages/send', json(SEND));
  expect([taken.status, taken.headers.get('tidings-gateway')]).toEqual([200, '1']);
});
