import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { type LoggedEvent, RedisEventLog, RedisEventTail } from '#events';
import { closeRedis, createLogger, newId, openRedis, parseRedisAddress, type RedisClient } from '#platform';
import { eventually } from '../../../../test/support/eventually.js';
import { startTestRedis, type TestRedis } from '../../../../test/support/redis-server.js';
import { EventDispatch } from './event-dispatch.js';

let server: TestRedis;
let redis: RedisClient;
let prefix: string;
let log: RedisEventLog;
let dispatch: EventDispatch;
let dispatched: string[];
/** Of this account the next dispatch waits. */
let held: string | undefined;

beforeAll(async () => {
  server = await startTestRedis();
});
afterAll(async () => {
  await server.dispose();
});
beforeEach(() => {
  redis = open();
  prefix = `test-${newId('req')}`;
  log = new RedisEventLog(redis, prefix);
  [dispatched, held] = [[], undefined];
  dispatch = dispatchOn(redis);
});
afterEach(async () => {
  held = undefined;
  await dispatch.stop();
  await closeRedis(redis);
});

const open = (): RedisClient => openRedis(parseRedisAddress(server.url), 'patient', () => undefined);

function dispatchOn(connection: RedisClient): EventDispatch {
  const dispatcher = {
    dispatch: async (account: string, events: readonly LoggedEvent[]): Promise<void> => {
      await eventually('it may go on', () => held !== account);
      dispatched.push(...events.map(({ sequence }) => `${account} ${sequence}`));
    },
  };
  return new EventDispatch(
    dispatcher,
    connection,
    new RedisEventTail(open, prefix),
    prefix,
    createLogger('test', 'silent'),
  );
}

const append = (account: string, revision: number): Promise<void> =>
  log.append(account, [{ type: 'webhook.test', subject: 'a', revision, data: {} }]);

it('reads the log of an account from when it comes until it goes, and again when it returns', async () => {
  dispatch.came('a');
  await append('a', 1);
  await eventually('the first', () => dispatched.includes('a 1'));
  dispatch.went('a');
  dispatch.came('b');
  await append('a', 2);
  await append('b', 1);
  await eventually('the other', () => dispatched.includes('b 1'));
  dispatch.came('a');
  await eventually('the second', () => dispatched.includes('a 2'));
  expect(dispatched.filter((it) => it.startsWith('a'))).toEqual(['a 1', 'a 2']);
});

it('holds up no account because the dispatch of another one hangs', async () => {
  held = 'a';
  for (const account of ['a', 'b']) {
    dispatch.came(account);
    await append(account, 1);
  }
  await eventually('the other', () => dispatched.includes('b 1'));
  expect(dispatched).toEqual(['b 1']);
});

it('takes one connection besides the one that is asked, however many accounts there are', async () => {
  const connections = async (): Promise<number> =>
    Number(/connected_clients:(\d+)/.exec(await redis.info('clients'))?.[1]);
  await redis.ping();
  const before = await connections();
  const accounts = Array.from({ length: 200 }, (_, i) => `account-${i}`);
  for (const account of accounts) dispatch.came(account);
  for (const account of accounts) await append(account, 1);
  await eventually('all are dispatched', () => dispatched.length === 200);
  expect((await connections()) - before).toBe(1);
});

it('lets another process read at once when it stops', async () => {
  dispatch.came('a');
  await append('a', 1);
  await eventually('the first', () => dispatched.includes('a 1'));
  await dispatch.stop();
  dispatch = dispatchOn(redis);
  dispatch.came('a');
  const begun = performance.now();
  await append('a', 2);
  await eventually('the second', () => dispatched.includes('a 2'));
  // Else the lease would have to end first.
  expect(performance.now() - begun).toBeLessThan(4_000);
});
