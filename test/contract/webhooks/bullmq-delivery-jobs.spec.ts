import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Queue, Worker } from 'bullmq';
import {
  closeRedis,
  openRedis,
  parseRedisAddress,
  type QueuePayloads,
  queueRedisKeyPrefix,
  BullmqHintQueue,
  type RedisClient,
  clockOfThisMachine,
} from '#platform';
import { BullmqDeliveryJobs } from '#webhooks';
import { eventually } from '../../support/eventually.js';
import { startTestRedis, type TestRedis } from '../../support/redis-server.js';

type Job = QueuePayloads['deliveries'];

let server: TestRedis;
let connection: RedisClient;
let queue: Queue<Job>;
let jobs: BullmqDeliveryJobs;
let worker: Worker<Job> | undefined;

beforeAll(async () => {
  server = await startTestRedis();
});
afterAll(async () => {
  await server.dispose();
});
beforeEach(() => {
  connection = openRedis(parseRedisAddress(server.url), 'patient', () => undefined);
  queue = new Queue<Job>('deliveries', { connection, prefix: queueRedisKeyPrefix('test', 'deliveries') });
  jobs = new BullmqDeliveryJobs(BullmqHintQueue.onQueue(queue, clockOfThisMachine));
});
afterEach(async () => {
  await worker?.close();
  worker = undefined;
  await queue.obliterate({ force: true });
  await queue.close();
  await closeRedis(connection);
});

function startWorker(process: (job: Job) => Promise<void>): void {
  worker = new Worker<Job>('deliveries', (job) => process(job.data), {
    connection,
    prefix: queueRedisKeyPrefix('test', 'deliveries'),
    concurrency: 5,
  });
}

describe('a hint for workers', () => {
  it('creates one job per webhook, which is removed when done', async () => {
    await jobs.wake('a:b', ['whk_1', 'whk_2']);
    await jobs.wake('a', ['whk_1']);
    const done: Job[] = [];
    startWorker((job) => {
      done.push(job);
      return Promise.resolve();
    });
    await eventually('all jobs ran', () => done.length === 3);
    expect(done).toContainEqual({ account: 'a:b', endpointId: 'whk_2' });
    await eventually('no job is left', async () => {
      const counts = await queue.getJobCounts();
      return Object.values(counts).every((count) => count === 0);
    });
  });

  it('that is marked as recurring creates at most one job per second for each webhook, however often the hint is added', async () => {
    const began = Date.now();
    for (let i = 0; i < 20; i++) await jobs.remind('a', ['whk_1', 'whk_2']);
    const seconds = Math.ceil((Date.now() - began) / 1_000) + 1;
    const waiting = await queue.getWaitingCount();
    expect(waiting).toBeGreaterThanOrEqual(2);
    expect(waiting).toBeLessThanOrEqual(2 * seconds);
  });

  it('with a delay causes a job that runs only after the delay; 20 hints for about the same time cause at most four jobs', async () => {
    let runs = 0;
    const began = Date.now();
    for (let i = 0; i < 20; i++) await jobs.wake('a', ['whk_1'], 500);
    expect(await queue.getDelayedCount()).toBeLessThanOrEqual(4);
    let at = 0;
    startWorker(() => {
      runs++;
      at ||= Date.now();
      return Promise.resolve();
    });
    await eventually('the job ran', () => runs > 0);
    expect(at - began).toBeGreaterThanOrEqual(495);
  });

  it('can be sent again after its job failed', async () => {
    let runs = 0;
    startWorker(() => (++runs === 1 ? Promise.reject(new Error('Redis was away')) : Promise.resolve()));
    await jobs.wake('a', ['whk_1']);
    await eventually('the job failed', () => runs === 1);
    await eventually('the job ran again', async () => {
      await jobs.wake('a', ['whk_1']);
      return runs >= 2;
    });
  });
});
