import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  type Cursor,
  CursorExpiredError,
  type EventFilter,
  type EventLog,
  RedisEventLog,
  RedisEventLogNotifier,
} from '#events';
import {
  closeRedis,
  openRedis,
  parseRedisAddress,
  RedisChannelSubscriber,
  type RedisClient,
} from '#platform';
import { startTestRedis, type TestRedis } from '../../../../test/support/redis-server.js';
import { someEvent } from '../fixtures/events.js';
import { type SharedLog, SharedLogs } from './shared-logs.js';
import { WAIT_SETTINGS } from './wait-settings.js';

const ACCOUNT = 'default';
/** More events than are kept in memory. */
const BURST = 1_300;

let server: TestRedis;
let redis: RedisClient;
let log: EventLog;
let notifier: RedisEventLogNotifier;
let logs: SharedLogs;
let reads = 0;
let revision = 0;

beforeAll(async () => {
  server = await startTestRedis();
  const open = (): RedisClient => openRedis(parseRedisAddress(server.url), 'patient', () => undefined);
  redis = open();
  const stored = new RedisEventLog(redis, 'tidings');
  log = stored;
  notifier = new RedisEventLogNotifier(new RedisChannelSubscriber(open, 'tidings'), 'tidings');
  const counted: Pick<EventLog, 'read' | 'end'> = {
    read: (...query) => {
      reads += 1;
      return stored.read(...query);
    },
    end: (account) => stored.end(account),
  };
  logs = new SharedLogs(counted as EventLog, notifier, WAIT_SETTINGS);
});
beforeEach(() => {
  reads = 0;
});
afterAll(async () => {
  await notifier.close();
  await closeRedis(redis);
  await server.dispose();
});

const append = (count: number, type: 'message.sent' | 'message.received' = 'message.sent'): Promise<void> =>
  log.append(
    ACCOUNT,
    Array.from({ length: count }, () => someEvent(type, (revision += 1), 'c1')),
  );

/** Reads as an event stream does, until it has `count` events. Returns their sequences. */
async function follow(
  shared: SharedLog,
  start: Cursor,
  count: number,
  filter: EventFilter = {},
): Promise<number[]> {
  const sequences: number[] = [];
  const stop = AbortSignal.timeout(20_000);
  for (let after = start; sequences.length < count && !stop.aborted;) {
    const { events, next, hasMore } = await shared.read(after, 100, filter);
    sequences.push(...events.map(({ sequence }) => sequence));
    after = next;
    if (!hasMore && sequences.length < count) await shared.follower.waitForGrowth(20_000, stop);
  }
  shared.follower.stop();
  return sequences;
}

describe('event streams that share their reads of the event log', () => {
  it('get each event exactly once and in order, even if a burst has more events than the gateway keeps in memory', async () => {
    const start = await log.end(ACCOUNT);
    const first = Array.from({ length: 20 }, () => follow(logs.follow(ACCOUNT), start, BURST));
    const filtered = follow(logs.follow(ACCOUNT), start, 10, { types: ['message.received'] });
    for (let n = 0; n < BURST - 10; n += 30) await append(Math.min(30, BURST - 10 - n));
    await append(10, 'message.received');
    const all = await Promise.all(first);
    const [one = []] = all;
    expect(one).toHaveLength(BURST);
    expect(one).toEqual(one.map((_, i) => (one[0] ?? 0) + i));
    for (const other of all) expect(other).toEqual(one);
    expect(await filtered).toEqual(one.slice(-10));
  });

  it('do not read Redis for an event that another stream has already read', async () => {
    const start = await log.end(ACCOUNT);
    const shared = Array.from({ length: 50 }, () => logs.follow(ACCOUNT));
    // The first reads may come before the recent events are known.
    await Promise.all(shared.map((each) => each.read(start, 100, {})));
    await append(1);
    const before = reads;
    const got = await Promise.all(shared.map((each) => follow(each, start, 1)));
    expect(got.every(({ length }) => length === 1)).toBe(true);
    expect(reads - before).toBeLessThanOrEqual(5);
  });

  it('of an account without new events keep fewer recent events in memory when more accounts have streams', async () => {
    const start = await log.end(ACCOUNT);
    const shared = logs.follow(ACCOUNT);
    await shared.read(start, 100, {});
    const word = 'x'.repeat(400_000);
    await log.append(
      ACCOUNT,
      [1, 2].map(() => someEvent('message.sent', (revision += 1), 'c1', word)),
    );
    await follow(logs.follow(ACCOUNT), start, 2);
    reads = 0;
    await shared.read(start, 100, {});
    expect(reads).toBe(0);
    // With 100 accounts, each may keep 320,000 characters.
    const others = Array.from({ length: 99 }, (_, n) => logs.follow(`other-${n}`));
    await shared.read(start, 100, {});
    expect(reads).toBeGreaterThan(0);
    for (const { follower } of [shared, ...others]) follower.stop();
  });

  it('end with the error "cursor expired" if events after the cursor were deleted from the log', async () => {
    const start = await log.end(ACCOUNT);
    await append(5);
    await redis.hset('tidings:{default}:events:counters', 'dispatched', '18446744073709551615-0');
    while ((await log.trim(ACCOUNT, { maxAgeMs: 0, maxCount: 1 })) > 0);
    const shared = logs.follow(ACCOUNT);
    await expect(shared.read(start, 100, {})).rejects.toThrow(CursorExpiredError);
    shared.follower.stop();
  });

  it('end with the error "cursor expired" if Redis lost the event log and a new log was started', async () => {
    const shared = logs.follow(ACCOUNT);
    const start = await log.end(ACCOUNT);
    await append(1);
    await follow(logs.follow(ACCOUNT), start, 1);
    await redis.flushall();
    await append(1);
    const stop = AbortSignal.timeout(10_000);
    let trouble: unknown;
    for (let after = start; trouble === undefined && !stop.aborted;) {
      await shared.follower.waitForGrowth(2_000, stop);
      await shared.read(after, 100, {}).then(
        ({ next }) => (after = next),
        (error: unknown) => (trouble = error),
      );
    }
    expect(trouble).toBeInstanceOf(CursorExpiredError);
    shared.follower.stop();
  });
});
