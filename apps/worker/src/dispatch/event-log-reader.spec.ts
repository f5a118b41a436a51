import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import {
  eventLogReaderLeaseRedisKey,
  type LoggedEvent,
  type ReaderLease,
  RedisEventLog,
  RedisEventLogNotifier,
} from '#events';
import {
  accountKeys,
  closeRedis,
  createLogger,
  newId,
  openRedis,
  parseRedisAddress,
  RedisChannelSubscriber,
  type RedisClient,
} from '#platform';
import { eventually } from '../../../../test/support/eventually.js';
import { startTestRedis, type TestRedis } from '../../../../test/support/redis-server.js';
import { EventLogReader } from './event-log-reader.js';

let server: TestRedis;
let redis: RedisClient;
let prefix: string;
let log: RedisEventLog;
let reader: EventLogReader;
let dispatched: string[];
/**
 * The lease of each dispatch, with the token of the reader that held the lease on the event log in Redis at that
 * time.
 */
let leases: { given: ReaderLease | undefined; holder: string | null }[];
/** The account whose next dispatch blocks until this is cleared. */
let blockedAccount: string | undefined;
/** How many dispatches were refused, and how many more the test will refuse. */
let refusals: { past: number; left: number };

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
  [dispatched, leases, blockedAccount, refusals] = [[], [], undefined, { past: 0, left: 0 }];
  reader = readerOn(redis);
});
afterEach(async () => {
  blockedAccount = undefined;
  await reader.stop();
  await closeRedis(redis);
});

const open = (): RedisClient => openRedis(parseRedisAddress(server.url), 'patient', () => undefined);

function readerOn(connection: RedisClient): EventLogReader {
  const dispatcher = {
    dispatch: async (account: string, events: readonly LoggedEvent[], given?: ReaderLease): Promise<void> => {
      const holder = await connection.get(eventLogReaderLeaseRedisKey(accountKeys(prefix, account)));
      leases.push({ given, holder });
      await eventually('the account is no longer blocked', () => blockedAccount !== account);
      if (refusals.left > 0) {
        refusals = { past: refusals.past + 1, left: refusals.left - 1 };
        throw new Error('the deliveries could not be created');
      }
      dispatched.push(...events.map(({ sequence }) => `${account} ${sequence}`));
    },
  };
  return new EventLogReader(
    dispatcher,
    connection,
    new RedisEventLogNotifier(new RedisChannelSubscriber(open, prefix), prefix),
    prefix,
    createLogger('test', 'silent'),
  );
}

const append = (account: string, revision: number): Promise<void> =>
  log.append(account, [{ type: 'webhook.test', subject: 'a', revision, data: {} }]);

it('the event dispatch reads the event log of an account until the account is removed, and resumes when the account is added again', async () => {
  reader.added('a');
  await append('a', 1);
  await eventually('the first event is dispatched', () => dispatched.includes('a 1'));
  reader.removed('a');
  reader.added('b');
  await append('a', 2);
  await append('b', 1);
  await eventually('the event of account b is dispatched', () => dispatched.includes('b 1'));
  reader.added('a');
  await eventually('the second event is dispatched', () => dispatched.includes('a 2'));
  expect(dispatched.filter((it) => it.startsWith('a'))).toEqual(['a 1', 'a 2']);
});

it('the event dispatch continues for an account while the dispatch of another account hangs', async () => {
  blockedAccount = 'a';
  for (const account of ['a', 'b']) {
    reader.added(account);
    await append(account, 1);
  }
  await eventually('the event of account b is dispatched', () => dispatched.includes('b 1'));
  expect(dispatched).toEqual(['b 1']);
});

it('the event dispatch opens only one additional Redis connection for any number of accounts', async () => {
  const connections = async (): Promise<number> =>
    Number(/connected_clients:(\d+)/.exec(await redis.info('clients'))?.[1]);
  await redis.ping();
  const before = await connections();
  const accounts = Array.from({ length: 200 }, (_, i) => `account-${i}`);
  for (const account of accounts) reader.added(account);
  for (const account of accounts) await append(account, 1);
  await eventually('all events are dispatched', () => dispatched.length === 200);
  expect((await connections()) - before).toBe(1);
});

it('the event dispatch releases its lease on the event log of an account when the dispatch stops, so that another process reads the event log at once', async () => {
  reader.added('a');
  await append('a', 1);
  await eventually('the first event is dispatched', () => dispatched.includes('a 1'));
  await reader.stop();
  reader = readerOn(redis);
  reader.added('a');
  const begun = performance.now();
  await append('a', 2);
  await eventually('the second event is dispatched', () => dispatched.includes('a 2'));
  // Without a release, the second reader would wait for the lease to expire.
  expect(performance.now() - begun).toBeLessThan(4_000);
});

it('the event dispatch acknowledges an event only after its deliveries are created: it dispatches the event again after a failure', async () => {
  refusals.left = 1;
  reader.added('a');
  await append('a', 1);
  await eventually('the event is dispatched after the failure', () => dispatched.includes('a 1'));
  expect(refusals.past).toBe(1);
});

it('the event dispatch acknowledges an event only after its deliveries are created: another process dispatches an event that failed', async () => {
  refusals.left = Infinity;
  reader.added('a');
  await append('a', 1);
  await eventually('a dispatch of the event fails', () => refusals.past > 0);
  await reader.stop();
  refusals.left = 0;
  reader = readerOn(redis);
  reader.added('a');
  await eventually('the event is dispatched by the other process', () => dispatched.includes('a 1'));
});

it('the event dispatch creates deliveries only under its lease on the event log, so that no deliveries are created after another process took over the log', async () => {
  reader.added('a');
  for (const revision of [1, 2]) {
    await append('a', revision);
    await eventually('the event is dispatched', () => dispatched.includes(`a ${revision}`));
  }
  expect(leases.length).toBeGreaterThanOrEqual(2);
  for (const { given, holder } of leases) expect(given).toEqual({ token: holder, leaseMs: 5_000 });
});
