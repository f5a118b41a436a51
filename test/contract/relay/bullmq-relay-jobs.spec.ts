import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Queue } from 'bullmq';
import {
  BullmqHintQueue,
  clockOfThisMachine,
  closeRedis,
  createLogger,
  newId,
  openRedis,
  parseRedisAddress,
  queueRedisKeyPrefix,
  type QueuePayloads,
  type RedisClient,
} from '#platform';
import { BullmqRelayJobs } from '#relay';
import { startTestRedis, type TestRedis } from '../../support/redis-server.js';

let server: TestRedis;
let connection: RedisClient;

beforeAll(async () => {
  server = await startTestRedis();
  connection = openRedis(parseRedisAddress(server.url), 'patient', () => undefined);
});
afterAll(async () => {
  await closeRedis(connection);
  await server.dispose();
});

async function jobsFor(lanes: readonly string[], delayMs?: number): Promise<QueuePayloads['relay'][]> {
  const queue = new Queue<QueuePayloads['relay']>('relay', {
    connection,
    prefix: queueRedisKeyPrefix(newId('req'), 'relay'),
  });
  const hints = BullmqHintQueue.onQueue(queue, clockOfThisMachine);
  await new BullmqRelayJobs(hints, createLogger('test', 'silent')).wake('a', lanes, delayMs);
  const jobs = await queue.getJobs(['wait', 'delayed'], 0, -1, true);
  await queue.close();
  return jobs.map(({ data }) => data);
}

const LANES = Array.from({ length: 40 }, (_, n) => `+1555000${String(n).padStart(4, '0')}`);

it('lanes that are woken at the same time share jobs, and each lane is in exactly one job', async () => {
  const jobs = await jobsFor(LANES);
  expect(jobs).toHaveLength(3);
  expect(jobs.flatMap(({ lane, more = [] }) => [lane, ...more]).sort()).toEqual(LANES);
});

it('a job for one lane has the same fields as in earlier builds', async () => {
  expect(await jobsFor(['+15550000000'])).toEqual([{ account: 'a', lane: '+15550000000' }]);
});

it('each lane that is woken after a delay has its own job', async () => {
  const jobs = await jobsFor(LANES.slice(0, 3), 60_000);
  // Jobs that are due at the same time have no order.
  expect(jobs.sort((a, b) => a.lane.localeCompare(b.lane))).toEqual(
    LANES.slice(0, 3).map((lane) => ({ account: 'a', lane })),
  );
});
