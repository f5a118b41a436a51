import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { type EventLogFollower, RedisEventLog, RedisEventLogNotifier } from '#events';
import {
  closeRedis,
  openRedis,
  parseRedisAddress,
  RedisChannelSubscriber,
  type RedisClient,
} from '#platform';
import { eventually } from '../../support/eventually.js';
import { startTestCluster } from '../../support/redis-cluster.js';
import { startTestRedis, type TestRedis } from '../../support/redis-server.js';

const ACCOUNT = 'default';
/** Wait in milliseconds that a passing test never reaches. */
const LONG_MS = 60_000;
/** Aborts all waits at the end of a test. */
let over: AbortController;

const open = (url: string, behaviour: 'failFast' | 'patient'): RedisClient =>
  openRedis(parseRedisAddress(url), behaviour, () => undefined);

/** Opens a client, a log and a notifier on one Redis. */
async function connect(url: string): Promise<{
  redis: RedisClient;
  log: RedisEventLog;
  notifier: RedisEventLogNotifier;
  opened: () => number;
  grow: (account?: string) => Promise<void>;
  close: () => Promise<void>;
}> {
  const redis = open(url, 'failFast');
  await once(redis, 'ready');
  const log = new RedisEventLog(redis, 'tidings');
  let [opened, revision] = [0, 0];
  const channels = new RedisChannelSubscriber(() => {
    opened++;
    return open(url, 'patient');
  }, 'tidings');
  const notifier = new RedisEventLogNotifier(channels, 'tidings');
  return {
    redis,
    log,
    notifier,
    opened: () => opened,
    grow: async (account = ACCOUNT) => {
      revision++;
      await log.append(account, [{ type: 'send.sent', subject: 's', revision, data: {} }]);
    },
    close: async () => {
      await notifier.close();
      await closeRedis(redis);
    },
  };
}

/** Returns true if `waiting` resolves during `action` or within 100 ms after. */
async function resolvesBy(waiting: Promise<void>, action: () => Promise<void>): Promise<boolean> {
  let resolved = false;
  const noted = waiting.then(() => {
    resolved = true;
  });
  await action();
  await Promise.race([noted, new Promise((resolve) => setTimeout(resolve, 100))]);
  return resolved;
}

let server: TestRedis;
let one: Awaited<ReturnType<typeof connect>>;

beforeEach(async () => {
  over = new AbortController();
  server = await startTestRedis();
  one = await connect(server.url);
});
afterEach(async () => {
  over.abort();
  await one.close();
  await server.dispose();
});

/** Returns a follower whose subscription is confirmed. */
async function follow(account = ACCOUNT): Promise<EventLogFollower> {
  const follower = one.notifier.follow(account);
  await follower.waitForGrowth(LONG_MS, over.signal);
  return follower;
}

describe('a listener for new events in the log', () => {
  it('wakes exactly those callers that wait for events of the account of the new event', async () => {
    const [first, second, other] = [await follow(), await follow(), await follow('other')];
    const others = other.waitForGrowth(LONG_MS, over.signal);
    await one.grow();
    await Promise.all([
      first.waitForGrowth(LONG_MS, over.signal),
      second.waitForGrowth(LONG_MS, over.signal),
    ]);
    expect(await resolvesBy(others, () => Promise.resolve())).toBe(false);
    await one.grow('other');
    await others;
  });

  it('remembers new events that arrive while its caller is busy, and reports them once when the caller waits again', async () => {
    const follower = await follow();
    const wake = jest.spyOn(follower, 'wake');
    await one.grow();
    await eventually('the hint has arrived', () => wake.mock.calls.length === 1);
    await follower.waitForGrowth(LONG_MS, over.signal);
    expect(await resolvesBy(follower.waitForGrowth(LONG_MS, over.signal), () => Promise.resolve())).toBe(
      false,
    );
  });

  it('wakes no waiting caller when a duplicate event is appended or the log is read', async () => {
    const follower = await follow();
    await one.grow();
    await follower.waitForGrowth(LONG_MS, over.signal);
    const same = { type: 'send.sent' as const, subject: 's', revision: 1, data: {} };
    const quiet = resolvesBy(follower.waitForGrowth(LONG_MS, over.signal), async () => {
      await one.log.append(ACCOUNT, [same]);
      await one.log.read(ACCOUNT, undefined, 10);
    });
    expect(await quiet).toBe(false);
  });

  it('uses one connection for all callers, and unsubscribes when the last caller stops', async () => {
    expect(one.opened()).toBe(0);
    const followers = [await follow(), await follow(), await follow('other')];
    const channels = async (): Promise<number> =>
      ((await one.redis.call('PUBSUB', 'CHANNELS')) as unknown[]).length;
    expect([one.opened(), await channels()]).toEqual([1, 2]);
    followers.forEach((follower) => {
      follower.stop();
    });
    await eventually('no subscription is left', async () => (await channels()) === 0);
    const again = await follow();
    await one.grow();
    await again.waitForGrowth(LONG_MS, over.signal);
    expect(one.opened()).toBe(1);
  });

  it('ends the wait of a caller after the time that the caller set, or when its abort signal fires', async () => {
    const follower = await follow();
    await follower.waitForGrowth(1, over.signal);
    const aborter = new AbortController();
    const waiting = follower.waitForGrowth(LONG_MS, aborter.signal);
    aborter.abort();
    await waiting;
    await follower.waitForGrowth(LONG_MS, aborter.signal);
  });

  it('wakes its callers after a restart of Redis', async () => {
    const follower = await follow();
    server.server.kill('SIGKILL');
    await server.server.exited;
    await server.server.restart();
    await eventually('the notifier is subscribed again', async () => {
      const channels = (await one.redis.call('PUBSUB', 'CHANNELS')) as unknown[];
      return channels.length === 1;
    });
    const waiting = follower.waitForGrowth(LONG_MS, over.signal);
    await one.grow();
    await waiting;
  });

  it('counts as reliable only while it receives its own test messages through Redis; when these messages stop, it wakes every waiting caller', async () => {
    expect(one.notifier.isReceiving()).toBe(false);
    const notifier = new RedisEventLogNotifier(
      new RedisChannelSubscriber(() => open(server.url, 'patient'), 'tidings', one.redis),
      'tidings',
    );
    const follower = notifier.follow(ACCOUNT);
    try {
      await eventually('the notifier is receiving', () => notifier.isReceiving());
      await follower.waitForGrowth(1, over.signal);
      const waiting = follower.waitForGrowth(LONG_MS, over.signal);
      server.server.kill('SIGKILL');
      await waiting;
      expect(notifier.isReceiving()).toBe(false);
      await server.server.exited;
      await server.server.restart();
      await eventually('the notifier is receiving again', () => notifier.isReceiving());
    } finally {
      await notifier.close();
    }
  });

  it('is optional: events are recorded even if the Redis user has no permission to notify listeners', async () => {
    await one.redis.call('ACL', 'SETUSER', 'mute', 'on', '>pw', '~*', '+@all', 'resetchannels');
    const mute = open(server.url.replace(/\/\/[^@]*@/, '//mute:pw@'), 'failFast');
    await once(mute, 'ready');
    await new RedisEventLog(mute, 'tidings').append(ACCOUNT, [
      { type: 'send.sent', subject: 'mute', revision: 1, data: {} },
    ]);
    expect((await one.log.read(ACCOUNT, undefined, 10)).events.length).toBe(1);
    await closeRedis(mute);
  });

  it('uses only one connection to a Redis Cluster, even if callers wait for events of several accounts', async () => {
    await using cluster = await startTestCluster();
    const wide = await connect(cluster.url);
    try {
      // Six accounts cover the cluster slots of both nodes.
      const accounts = ['a', 'b', 'c', 'd', 'e', 'f'];
      const followers = accounts.map((account) => wide.notifier.follow(account));
      await Promise.all(followers.map((follower) => follower.waitForGrowth(LONG_MS, over.signal)));
      for (const [i, account] of accounts.entries()) {
        const waiting = followers[i]?.waitForGrowth(LONG_MS, over.signal);
        await wide.grow(account);
        await waiting;
        expect((await wide.log.read(account, undefined, 10)).events.length).toBe(1);
      }
      expect(wide.opened()).toBe(1);
    } finally {
      await wide.close();
    }
  });
});
