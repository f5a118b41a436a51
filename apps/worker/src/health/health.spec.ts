import { expect, it } from '@jest/globals';
import { closeRedis, connectionErrorOf, openRedis, parseRedisAddress } from '#platform';
import { eventually } from '../../../../test/support/eventually.js';
import { startTestRedis } from '../../../../test/support/redis-server.js';
import { HealthController } from './health.module.js';

it('The readiness of the worker says that Redis rejects the password, and names the remedy', async () => {
  await using server = await startTestRedis();
  const url = new URL(server.url);
  url.password = 'wrong';
  const redis = openRedis(parseRedisAddress(url.href), 'patient', () => undefined);
  try {
    await eventually('the connection fails', () => connectionErrorOf(redis));
    const core = {
      redis,
      blobStoreMonitor: { fault: undefined, peersWithoutMarker: 0 },
      clock: { fault: undefined },
    } as unknown as ConstructorParameters<typeof HealthController>[1];
    const health = new HealthController({ isFresh: () => false }, core);
    const statuses: number[] = [];
    const reply = { status: (code: number) => statuses.push(code) } as unknown as Parameters<
      typeof health.ready
    >[0];
    expect(health.ready(reply)).toMatchObject({
      status: 'unavailable',
      reasons: [expect.stringContaining('cannot connect to Redis, which answers WRONGPASS')],
      details: [{ code: 'redis_unwritable', remedy: 'correct the user and the password in REDIS_URL' }],
    });
    expect(statuses).toEqual([503]);
  } finally {
    await closeRedis(redis);
  }
});
