import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startTestRedis, type TestRedis } from '../../../../test/support/redis-server.js';
import { json, problemIn, startTestGateway, type TestGateway } from '../fixtures/gateway.js';

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

describe('A request of another gateway, or of this one', () => {
  it.each(['with a key', 'without one'])('is refused with 508, and nothing is stored: %s', async (how) => {
    const key = how === 'with a key' ? {} : { key: null };
    const send = { ...json(SEND, { 'Tidings-Gateway': '1' }), ...key };
    const refused = await gateway.fetch('/v1/messages/send', send);
    expect(await problemIn(refused)).toMatchObject({
      ...{ status: 508, code: 'loop_detected', detail: expect.stringContaining('UPSTREAM_BASE_URL') },
    });
    expect(refused.headers.get('tidings-gateway')).toBe('1');
    expect(gateway.sends.requests).toEqual([]);
  });

  it('without /v1 in its address is told whom it asks, too', async () => {
    const refused = await gateway.fetch('/messages/send', json(SEND, { 'Tidings-Gateway': '1' }));
    expect([refused.status, refused.headers.get('tidings-gateway')]).toEqual([404, '1']);
  });
});

it('Any other client is served as ever, and sees whom it asks', async () => {
  const taken = await gateway.fetch('/v1/messages/send', json(SEND));
  expect([taken.status, taken.headers.get('tidings-gateway')]).toEqual([200, '1']);
});
