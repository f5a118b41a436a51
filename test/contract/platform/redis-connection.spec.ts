import { once } from 'node:events';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import {
  closeRedis,
  ConfigurationError,
  createLogger,
  openRedisAndCheckRequirements,
  openRedis,
  parseRedisAddress,
  type RedisClient,
  EvalshaScript,
} from '#platform';
import { startTestRedis, type TestRedis } from '../../support/redis-server.js';
import { eventually } from '../../support/eventually.js';

let server: TestRedis;
const clients: RedisClient[] = [];
const silent = createLogger('test', 'silent');

beforeAll(async () => {
  server = await startTestRedis();
});
afterAll(async () => {
  await server.dispose();
});
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => closeRedis(client)));
});

async function connected(behaviour: 'failFast' | 'patient'): Promise<RedisClient> {
  const client = openRedis(parseRedisAddress(server.url), behaviour, () => undefined);
  clients.push(client);
  await once(client, 'ready');
  return client;
}

describe('a connection', () => {
  it('sends all commands of one event loop turn together and in order, even after a reconnect', async () => {
    const client = await connected('patient');
    const observer = await connected('patient');
    const reads = async (): Promise<number> =>
      Number(/total_reads_processed:(\d+)/.exec(await observer.info('stats'))?.[1]);
    for (let connection = 0; connection < 2; connection += 1) {
      const before = await reads();
      const replies = await Promise.all(Array.from({ length: 100 }, (_, n) => client.echo(String(n))));
      expect(replies).toEqual(Array.from({ length: 100 }, (_, n) => String(n)));
      expect((await reads()) - before).toBeLessThan(20);
      const ready = once(client, 'ready');
      client.disconnect(true);
      await ready;
    }
  });
});

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

describe('a connection that fails fast', () => {
  it('rejects commands within two seconds while Redis hangs, and works again afterwards', async () => {
    const client = await connected('failFast');
    server.server.kill('SIGSTOP');
    try {
      expect(await failsAfter(client)).toBeLessThan(2_000);
      expect(await failsAfter(client)).toBeLessThan(2_000);
    } finally {
      server.server.kill('SIGCONT');
    }
    await eventually('Redis responds', () => answers(client));
    expect(await client.get('key')).toBe('kept');
  });

  it('rejects commands at once while Redis is down, and works again after Redis has restarted', async () => {
    const client = await connected('failFast');
    const gone = once(client, 'close');
    server.server.kill('SIGKILL');
    await server.server.exited;
    await gone;
    expect(await failsAfter(client)).toBeLessThan(200);
    await server.server.restart();
    await eventually('Redis responds', () => answers(client));
    expect(await client.get('key')).toBe('kept');
  });

  it('rejects the commands that were in flight when Redis stopped, and never sends them again', async () => {
    const client = await connected('failFast');
    await client.del('count');
    server.server.kill('SIGSTOP');
    const lost = expect(client.incr('count')).rejects.toThrow();
    server.server.kill('SIGKILL');
    await server.server.exited;
    await lost;
    await server.server.restart();
    await eventually('Redis responds', () => answers(client));
    expect(await client.get('count')).toBeNull();
  });
});

describe.each(['failFast', 'patient'] as const)('a connection to a read-only replica (%s)', (behaviour) => {
  it('rejects writes with the answer of Redis, reconnects at most once a second, and works after a promotion', async () => {
    const observer = await connected('patient');
    const client = await connected(behaviour);
    const connections = async (): Promise<number> =>
      Number(/total_connections_received:(\d+)/.exec(await observer.info('stats'))?.[1]);
    await observer.call('REPLICAOF', '127.0.0.1', '1');
    try {
      const before = await connections();
      const began = performance.now();
      await eventually('a write is rejected', () =>
        client.set('key', 'lost').then(
          () => false,
          (error: unknown) => error instanceof Error && /^READONLY /.test(error.message),
        ),
      );
      for (let tries = 0; tries < 100; tries += 1) await client.set('key', 'lost').catch(() => undefined);
      const seconds = Math.ceil((performance.now() - began) / 1_000);
      expect((await connections()) - before).toBeLessThanOrEqual(2 * seconds);
    } finally {
      await observer.call('REPLICAOF', 'NO', 'ONE');
    }
    await eventually('Redis accepts writes', () => answers(client));
  });
});

describe('a connection that waits for Redis', () => {
  it('runs a command as soon as Redis is available again', async () => {
    const client = await connected('patient');
    server.server.kill('SIGKILL');
    await server.server.exited;
    const waiting = client.set('patient', 'yes');
    await server.server.restart();
    await waiting;
    expect(await client.get('patient')).toBe('yes');
  });
});

describe('a Redis script', () => {
  it('is run by its digest, is loaded first if Redis lacks the script, and receives bytes unchanged', async () => {
    const client = await connected('failFast');
    const script = new EvalshaScript(
      `redis.call('SET', KEYS[1], ARGV[1]) return {redis.call('STRLEN', KEYS[1]), ARGV[2]}`,
    );
    const bytes = Buffer.from([0, 255, 13, 10]);
    expect(await script.run(client, ['bytes'], [bytes, 7])).toEqual([4, '7']);
    expect(await script.run(client, ['bytes'], [bytes, 7])).toEqual([4, '7']);
    await client.script('FLUSH');
    expect(await script.run(client, ['bytes'], [bytes, 'x'])).toEqual([4, 'x']);
    expect((await client.getBuffer('bytes'))?.equals(bytes)).toBe(true);
  });

  it('that fails after a write is not repeated', async () => {
    const client = await connected('failFast');
    const script = new EvalshaScript(
      `redis.call('INCR', KEYS[1]) return redis.error_reply('NOTSCRIPTED that is all')`,
    );
    await client.del('runs');
    await expect(script.run(client, ['runs'], [])).rejects.toThrow('that is all');
    expect(await client.get('runs')).toBe('1');
  });
});

describe('a process', () => {
  it('does not start with a Redis that may evict keys', async () => {
    const client = await connected('failFast');
    await client.config('SET', 'maxmemory-policy', 'allkeys-lru');
    try {
      const start = openRedisAndCheckRequirements(
        parseRedisAddress(server.url),
        'failFast',
        silent,
        () => undefined,
      );
      const fault: unknown = await start.catch((error: unknown) => error);
      expect(fault).toBeInstanceOf(ConfigurationError);
      expect(String(fault)).toContain('allkeys-lru');
    } finally {
      await client.config('SET', 'maxmemory-policy', 'noeviction');
    }
  });

  it('starts while Redis is down, connects later, and then reports an error if Redis may evict keys', async () => {
    server.server.kill('SIGKILL');
    await server.server.exited;
    const unfit: ConfigurationError[] = [];
    const late = await openRedisAndCheckRequirements(
      parseRedisAddress(server.url),
      'failFast',
      silent,
      (error) => {
        unfit.push(error);
      },
    );
    clients.push(late);
    expect(late.status).not.toBe('ready');
    await server.server.restart();
    await eventually('the client is connected', () => late.status === 'ready');
    expect(await late.ping()).toBe('PONG');
    expect(unfit).toEqual([]);
    await late.config('SET', 'maxmemory-policy', 'allkeys-lru');
    try {
      late.disconnect(true);
      await eventually('the unfit Redis is reported', () => unfit.length > 0);
      expect(unfit[0]?.faults).toHaveLength(1);
    } finally {
      await eventually('the setting is restored', () =>
        late.config('SET', 'maxmemory-policy', 'noeviction').then(
          () => true,
          () => false,
        ),
      );
    }
  });
});
