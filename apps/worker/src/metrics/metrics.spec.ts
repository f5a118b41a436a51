import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import {
  closeRedis,
  createLogger,
  openRedis,
  parseNetworks,
  parseRedisAddress,
  type RedisClient,
} from '#platform';
import type { WorkerCore } from '../compose.js';
import { MetricsController } from './metrics.module.js';

const NETWORKS = parseNetworks('127.0.0.0/8');

let redis: RedisClient;

beforeEach(() => {
  // Port 1 refuses connections.
  redis = openRedis(parseRedisAddress('redis://127.0.0.1:1'), 'patient', () => undefined);
});
afterEach(async () => {
  await closeRedis(redis);
});

/** Requests the metrics from an address with these headers. Resolves to the status of the reply and its headers. */
async function ask(
  remoteAddress: string,
  headers: Record<string, string>,
): Promise<{ status: number; headers: Map<string, unknown> }> {
  const reply = { status: 200, headers: new Map<string, unknown>() };
  const fake = {
    header: (name: string, value: unknown) => (reply.headers.set(name, value), fake),
    type: () => fake,
    status: (code: number) => ((reply.status = code), fake),
    send: () => Promise.resolve(),
  };
  const metrics = { all: { expose: () => Promise.resolve({ contentType: 'text/plain', text: '' }) } };
  const environment = { METRICS_TOKEN: '', METRICS_ALLOW_NETWORKS: NETWORKS, REDIS_KEY_PREFIX: 'tidings' };
  const core = { metrics, environment, redis, logger: createLogger('test', 'silent') };
  const controller = new MetricsController(core as unknown as WorkerCore);
  await controller.get(
    { headers, socket: { remoteAddress } } as unknown as FastifyRequest,
    fake as unknown as FastifyReply,
  );
  return reply;
}

describe('a request for the metrics of a worker that is not connected to Redis', () => {
  it('with an API key gets 503 at once', async () => {
    const key = `tidings_${randomBytes(32).toString('base64url')}`;
    const { status, headers } = await ask('203.0.113.9', { 'x-api-key': key });
    expect([status, headers.get('retry-after')]).toEqual([503, 5]);
  });

  it('from an allowed network gets the metrics', async () => {
    expect(await ask('127.0.0.1', {})).toMatchObject({ status: 200 });
  });
});
