import { once } from 'node:events';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { PromMetrics, registerRedisCommandMetrics } from '#metrics';
import { closeRedis, newId, openRedis, parseRedisAddress, type RedisClient } from '#platform';
import { eventually } from '../../support/eventually.js';
import { metricsIn } from '../../support/metrics.js';
import { startTestRedis, type TestRedis } from '../../support/redis-server.js';

let server: TestRedis;
const clients: RedisClient[] = [];

beforeAll(async () => {
  server = await startTestRedis();
});
afterAll(async () => {
  await server.dispose();
});
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => closeRedis(client)));
});

function open(): RedisClient {
  const client = openRedis(parseRedisAddress(server.url), 'patient', () => undefined);
  clients.push(client);
  return client;
}

describe('A command to Redis is counted once', () => {
  it('if it waits for the connection', async () => {
    const client = open();
    const metrics = new PromMetrics('test', '0');
    registerRedisCommandMetrics(client, metrics);
    await client.echo('x');
    expect(await countOf(metrics, 'echo')).toBe(1);
  });

  it('if it is sent again because the connection was lost before the reply', async () => {
    const [client, other] = [open(), open()];
    await Promise.all([once(client, 'ready'), once(other, 'ready')]);
    const metrics = new PromMetrics('test', '0');
    registerRedisCommandMetrics(client, metrics);
    const list = newId('req');
    const blocked = async (): Promise<boolean> => /blocked_clients:1/.test(await other.info('clients'));
    const popped = client.blpop(list, 0);
    await eventually('the command waits for its reply', blocked);
    const again = once(client, 'ready');
    await other.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    await again;
    await eventually('the command is sent again', blocked);
    await other.rpush(list, 'x');
    expect(await popped).toEqual([list, 'x']);
    expect(await countOf(metrics, 'blpop')).toBe(1);
  });
});

async function countOf(metrics: PromMetrics, command: string): Promise<number> {
  return metricsIn((await metrics.expose()).text).value('tidings_redis_commands_total', { command });
}
