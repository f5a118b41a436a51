import { once } from 'node:events';
import { expect, it } from '@jest/globals';
import { clockOfThisMachine, closeRedis, openRedis, parseRedisAddress } from '#platform';
import { RedisIdempotencyKeys, RedisRelayStore, StoreBackedSendService } from '#relay';
import { startTestRedis } from '../../../../test/support/redis-server.js';
import { json, problemOf, startTestGateway } from '../fixtures/gateway.js';
import { makeToken } from '../fixtures/tokens.js';
import { SEND_SERVICE } from '../tokens.js';
import { MAX_UNFINISHED_SENDS } from './send-quota.js';

const OWN = { id: 'c_own', number: '+14155550111' };

it('restricted tokens of one API key and set of contacts have at most 100 unfinished sends together, while API keys and unrestricted tokens have no limit', async () => {
  const redis = await startTestRedis();
  const client = openRedis(parseRedisAddress(redis.url), 'failFast', () => undefined);
  try {
    await once(client, 'ready');
    const service = new StoreBackedSendService(
      new RedisRelayStore(client, 'tidings', clockOfThisMachine),
      new RedisIdempotencyKeys(client, 'tidings'),
      { wake: () => Promise.resolve() },
      () => Promise.resolve(undefined),
    );
    const bound = [{ provide: SEND_SERVICE, useValue: service }];
    await using gateway = await startTestGateway({ redisUrl: redis.url, bound });
    await client.hset('tidings:{default}:numbers', { [OWN.number]: OWN.id });
    const tokenOf = async (body: object = {}): Promise<string> => (await makeToken(gateway, body)).token;
    const restricted = { contactIds: [OWN.id] };
    const schedule = (caller: { token?: string }, init: RequestInit = scheduled()): Promise<Response> =>
      gateway.fetch('/v1/messages/send', { ...init, ...caller });
    const token = await tokenOf(restricted);
    const accepted: string[] = [];
    for (let i = 0; i < MAX_UNFINISHED_SENDS; i += 1) {
      const reply = await schedule({ token });
      expect(reply.status).toBe(200);
      accepted.push(((await reply.json()) as { id: string }).id);
    }
    const refused = await schedule({ token });
    expect(refused.headers.get('retry-after')).toBe('60');
    expect(await problemOf(refused)).toMatchObject({ status: 429, code: 'rate_limited' });
    expect((await schedule({ token: await tokenOf(restricted) })).status).toBe(429);
    const upload = new FormData();
    for (const [name, value] of Object.entries(SCHEDULED)) upload.append(name, value);
    upload.append('file', new Blob(['x']), 'x.txt');
    expect((await schedule({ token }, { method: 'POST', body: upload })).status).toBe(429);
    expect(await gateway.blobs()).toEqual([]);
    for (const caller of [{}, { token: await tokenOf() }]) expect((await schedule(caller)).status).toBe(200);

    await gateway.fetch(`/v1/sends/${accepted[0] ?? ''}/cancel`, { method: 'POST', token });
    expect((await schedule({ token })).status).toBe(200);
  } finally {
    await closeRedis(client);
    await redis.dispose();
  }
});

const SCHEDULED = { phoneNumber: OWN.number, message: 'Hi', sendAt: '9999-12-30T00:00:00Z' };
const scheduled = (): RequestInit => json(SCHEDULED);
