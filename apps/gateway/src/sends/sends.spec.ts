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

describe('Sends', () => {
  it('are read, and cancelled while they are not being relayed: 409 conflict then', async () => {
    const sent = await gateway.fetch(
      '/v1/messages/send',
      json({ phoneNumber: '+14155550123', message: 'hi' }),
    );
    const path = String(sent.headers.get('location'));
    expect(await (await gateway.fetch(path)).json()).toMatchObject({ status: 'queued', message: 'hi' });
    const cancel = (): Promise<Response> => gateway.fetch(`${path}/cancel`, { method: 'POST' });
    expect(await (await cancel()).json()).toMatchObject({ status: 'cancelled' });
    expect(await problemIn(await cancel())).toMatchObject({ status: 409, code: 'conflict' });
    expect(await problemIn(await gateway.fetch('/v1/sends/snd_x'))).toMatchObject({ status: 404 });
  });
});
