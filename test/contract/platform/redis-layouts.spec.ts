import { once } from 'node:events';
import { afterEach, describe, expect, it } from '@jest/globals';
import {
  closeRedis,
  createLogger,
  openRedisAndCheckRequirements,
  openRedis,
  parseRedisAddress,
  type RedisClient,
  RedisSubscriptionMonitor,
  readRedisTime,
  withDeadline,
} from '#platform';
import { eventually } from '../../support/eventually.js';
import { startTestCluster, type TestCluster } from '../../support/redis-cluster.js';
import type { RedisLayout, RedisProcess } from '../../support/redis-process.js';
import { startTestSentinel } from '../../support/redis-sentinel.js';

const open: (() => Promise<void>)[] = [];
const silent = createLogger('test', 'silent');

afterEach(async () => {
  // The clients were opened after their servers.
  for (const close of open.splice(0).reverse()) await close();
});

async function started<Layout extends RedisLayout>(start: () => Promise<Layout>): Promise<Layout> {
  const layout = await start();
  open.push(() => layout.dispose());
  return layout;
}

async function connected(layout: RedisLayout, behaviour: 'failFast' | 'patient'): Promise<RedisClient> {
  const client = openRedis(parseRedisAddress(layout.url), behaviour, () => undefined);
  open.push(() => closeRedis(client));
  await once(client, 'ready');
  // The connection to the master of this key is made by its first command.
  await client.set('key', 'first');
  return client;
}

/** Returns the time after which a command failed, in milliseconds. */
async function failsAfter(client: RedisClient): Promise<number> {
  const began = performance.now();
  await expect(client.set('key', 'lost')).rejects.toThrow();
  return performance.now() - began;
}

const answers = (client: RedisClient): Promise<boolean> =>
  client.set('key', 'kept').then(
    () => true,
    () => false,
  );

async function failsFast(client: RedisClient): Promise<void> {
  for (let i = 0; i < 5; i += 1) expect(await failsAfter(client)).toBeLessThan(2_000);
}

describe('a fail-fast connection to a Redis Cluster', () => {
  it('rejects commands within two seconds while the master of a key hangs, and works again afterwards', async () => {
    const cluster = await started(startTestCluster);
    const client = await connected(cluster, 'failFast');
    const master = await cluster.masterOf('key');
    master.kill('SIGSTOP');
    try {
      await failsFast(client);
    } finally {
      master.kill('SIGCONT');
    }
    await eventually('Redis responds', () => answers(client));
    expect(await client.get('key')).toBe('kept');
  });

  it.each([
    ['the master of a key', async (cluster: TestCluster) => [await cluster.masterOf('key')]],
    ['every master', (cluster: TestCluster) => Promise.resolve(cluster.masters)],
  ])(
    'rejects commands within two seconds after masters were killed (killed: %s), and works again after their restart',
    async (_, victimsOf) => {
      const cluster = await started(startTestCluster);
      const client = await connected(cluster, 'failFast');
      const victims = await victimsOf(cluster);
      await Promise.all(victims.map((victim) => victim.end()));
      await failsFast(client);
      await Promise.all(victims.map((victim) => victim.restart()));
      await eventually('Redis responds', () => answers(client));
      expect(await client.get('key')).toBe('kept');
    },
  );

  it('rejects the commands that were in flight when a master stopped, and never sends them again', async () => {
    const cluster = await started(startTestCluster);
    const client = await connected(cluster, 'failFast');
    const master = await cluster.masterOf('key');
    await client.del('key');
    master.kill('SIGSTOP');
    const lost = expect(client.incr('key')).rejects.toThrow();
    await master.end();
    await lost;
    await master.restart();
    await eventually('the client reads', () =>
      client.get('key').then(
        (value) => {
          expect(value).toBeNull();
          return true;
        },
        () => false,
      ),
    );
  });
});

describe('a connection that waits for a Redis Cluster', () => {
  it('runs a command as soon as the master that holds the key of the command is available again', async () => {
    const cluster = await started(startTestCluster);
    const client = await connected(cluster, 'patient');
    const master = await cluster.masterOf('key');
    await master.end();
    const waiting = client.set('key', 'yes');
    await master.restart();
    await waiting;
    expect(await client.get('key')).toBe('yes');
  });
});

describe('a connection that is opened while a master of the Redis Cluster does not respond', () => {
  it('is established within ten seconds, and works when the master responds again', async () => {
    const cluster = await started(startTestCluster);
    const client = await connected(cluster, 'patient');
    const [first, second] = cluster.masters as [RedisProcess, RedisProcess];
    second.kill('SIGSTOP');
    await eventually('the other masters report the cluster as down', async () =>
      /cluster_state:fail/.test(String(await first.ask('CLUSTER', 'INFO'))),
    );
    const ended = once(client, 'end');
    client.disconnect();
    await ended;
    await withDeadline(client.connect(), 10_000, 'connecting');
    second.kill('SIGCONT');
    await eventually('commands are answered again', () => answers(client));
  });
});

describe('a read of the Redis clock for a key', () => {
  it('reads the clock of the master that holds the key, even if no other master responds', async () => {
    const cluster = await started(startTestCluster);
    const client = await connected(cluster, 'failFast');
    const own = await cluster.masterOf('key');
    const others = cluster.masters.filter((master) => master !== own);
    for (const other of others) other.kill('SIGSTOP');
    try {
      for (let i = 0; i < 10; i += 1) {
        expect(Math.abs((await readRedisTime(client, 'key')) - Date.now())).toBeLessThan(1_000);
      }
    } finally {
      for (const other of others) other.kill('SIGCONT');
    }
    expect(await client.get('key')).toBe('first');
  });
});

describe('a process on a Redis Cluster', () => {
  it('does not start if one of the masters may evict keys', async () => {
    const cluster = await started(startTestCluster);
    await cluster.masters[2]?.ask('CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru');
    const start = openRedisAndCheckRequirements(
      parseRedisAddress(cluster.url),
      'failFast',
      silent,
      () => undefined,
    );
    await expect(start).rejects.toThrow('allkeys-lru');
  });

  it('calls its error handler when one of the masters goes down', async () => {
    const cluster = await started(startTestCluster);
    const errors: Error[] = [];
    const client = openRedis(parseRedisAddress(cluster.url), 'failFast', (error) => errors.push(error));
    open.push(() => closeRedis(client));
    await once(client, 'ready');
    await client.set('key', 'first');
    await (await cluster.masterOf('key')).end();
    await eventually(
      'the command succeeds or an error is reported',
      async () => (await answers(client)) || errors.length > 0,
    );
    expect(errors.length).toBeGreaterThan(0);
  });

  it('starts while the Cluster is down, and connects when the Cluster is available again', async () => {
    const cluster = await started(startTestCluster);
    await Promise.all(cluster.masters.map((master) => master.end()));
    const client = await openRedisAndCheckRequirements(
      parseRedisAddress(cluster.url),
      'failFast',
      silent,
      () => undefined,
    );
    open.push(() => closeRedis(client));
    expect(client.status).not.toBe('ready');
    await Promise.all(cluster.masters.map((master) => master.restart()));
    await eventually('Redis responds', () => answers(client));
  });
});

describe('the subscription monitor on a Redis Cluster', () => {
  it('reports each loss of the subscriber connection, even if the Redis client reconnects without an error', async () => {
    const cluster = await started(startTestCluster);
    const client = await connected(cluster, 'patient');
    const received = new Set<string>();
    let losses = 0;
    const watch = new RedisSubscriptionMonitor(client, () => {
      losses += 1;
    });
    client.on('message', (_channel: string, text: string) => received.add(text));
    await client.subscribe('news');
    watch.follow();
    for (const text of ['first', 'second']) {
      const before = losses;
      for (const master of cluster.masters) await master.ask('CLIENT', 'KILL', 'TYPE', 'pubsub');
      await eventually('the loss is reported', () => losses > before);
      await eventually('messages arrive again', async () => {
        await client.publish('news', text);
        return received.has(text);
      });
    }
  });
});

describe('a connection through Sentinel', () => {
  it.each(['SIGKILL', 'SIGSTOP'] as const)(
    'switches to the new master after the old master gets the signal %s; until then, commands fail fast or wait, as configured',
    async (signal) => {
      const layout = await started(startTestSentinel);
      const fast = await connected(layout, 'failFast');
      const patient = await connected(layout, 'patient');
      // A blocking read of a list that stays empty.
      const waits = await connected(layout, 'patient');
      const blocked = waits.blpop('list', 20).catch(() => undefined);
      layout.master.kill(signal);
      const waiting = patient.set('key', 'patient');
      await failsFast(fast);
      await layout.promoted();
      await eventually('Redis responds', () => answers(fast));
      await waiting;
      await layout.replica.ask('RPUSH', 'list', 'come');
      await blocked;
      await eventually('the reader responds', () => answers(waits), 5_000);
      expect(await layout.replica.ask('GET', 'key')).toBe('kept');
    },
  );
});
