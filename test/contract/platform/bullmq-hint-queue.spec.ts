import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Queue, Worker } from 'bullmq';
import {
  BullmqHintQueue,
  closeRedis,
  newId,
  openRedis,
  parseRedisAddress,
  queueRedisKeyPrefix,
  type RedisClient,
  clockOfThisMachine,
} from '#platform';
import { startTestRedis, type TestRedis } from '../../support/redis-server.js';
import { eventually } from '../../support/eventually.js';

interface Payload {
  n: number;
}

let server: TestRedis;
let connection: RedisClient;
let queue: Queue<Payload>;
let hints: BullmqHintQueue<Payload>;
let worker: Worker<Payload> | undefined;
let prefix: string;

beforeAll(async () => {
  server = await startTestRedis();
});
afterAll(async () => {
  await server.dispose();
});
beforeEach(() => {
  prefix = queueRedisKeyPrefix(newId('req'), 'relay');
  connection = openRedis(parseRedisAddress(server.url), 'patient', () => undefined);
  queue = new Queue<Payload>('relay', { connection, prefix });
  hints = BullmqHintQueue.onQueue(queue, clockOfThisMachine);
});
afterEach(async () => {
  await worker?.close();
  worker = undefined;
  await queue.close();
  await closeRedis(connection);
});

const hint = (subject: string, n = 0): { subject: string; payload: Payload } => ({ subject, payload: { n } });

function work(run: (payload: Payload) => Promise<void> | void): void {
  worker = new Worker<Payload>('relay', async (job) => run(job.data), { connection, prefix, concurrency: 5 });
}

async function empty(): Promise<boolean> {
  return Object.values(await queue.getJobCounts()).every((count) => count === 0);
}

describe('a hint for workers', () => {
  it('creates a job even if a job about the same object already waits, because the waiting job may be lost', async () => {
    await hints.add([hint('a', 1), hint('a', 2), hint('b', 3)]);
    await hints.add([hint('a', 4)]);
    expect(await queue.getWaitingCount()).toBe(4);
    await hints.add([]);
  });

  it('that is marked as recurring creates at most one job per second for each object, however often the hint is added', async () => {
    const began = Date.now();
    for (let i = 0; i < 50; i += 1) await hints.addRecurring([hint('a', i), hint('b', i)]);
    const seconds = Math.ceil((Date.now() - began) / 1_000) + 1;
    expect(await queue.getWaitingCount()).toBeLessThanOrEqual(2 * seconds);
    const ran: number[] = [];
    work(({ n }) => {
      ran.push(n);
    });
    await eventually('the jobs ran', empty);
    await hints.addRecurring([hint('a', 99)]);
    await eventually('the job is processed again', () => ran.includes(99));
  });

  it('that is marked as recurring is skipped while ten thousand jobs wait, but not afterwards', async () => {
    await hints.add(Array.from({ length: 9_999 }, (_, i) => hint(`busy ${i}`, i)));
    await hints.addRecurring([hint('a')]);
    await hints.addRecurring([hint('b')]);
    expect(await queue.getWaitingCount()).toBe(10_000);
    await hints.add([hint('c')]);
    expect(await queue.getWaitingCount()).toBe(10_001);
    await queue.drain();
    await hints.addRecurring([hint('b')]);
    expect(await queue.getWaitingCount()).toBe(1);
  });

  it('can be about an object of any name, and no Redis key contains the name', async () => {
    const about = 'account:x\n+15551234567 \u{1F44B}';
    await hints.add([hint(about)]);
    await hints.add([hint(about)], 500);
    const keys = await connection.keys('*');
    expect(keys.some((key) => key.includes('15551234567'))).toBe(false);
    expect(await queue.getWaitingCount()).toBe(1);
    expect(await queue.getDelayedCount()).toBe(1);
  });

  it('is processed even if a worker died while it processed another hint about the same object', async () => {
    await hints.add([hint('a', 1)]);
    const token = 'of a worker that is gone';
    const dead = new Worker<Payload>(queue.name, null, { connection, prefix: queue.opts.prefix ?? '' });
    expect(await dead.getNextJob(token)).toBeDefined();
    await dead.close(true);
    const ran: number[] = [];
    work(({ n }) => {
      ran.push(n);
    });
    await hints.add([hint('a', 2)]);
    await eventually('the job ran', () => ran.includes(2));
  });

  it('causes a job that runs after all writes that precede the hint', async () => {
    let noted = 0;
    let seen = 0;
    work(() => {
      seen = noted;
    });
    for (let i = 0; i < 200; i += 1) {
      noted += 1;
      await hints.add([hint('a', i)]);
    }
    await eventually('the last job ran', () => seen === 200);
  });

  it('with a delay causes a job that runs only after the delay; 20 hints for about the same time cause at most four jobs', async () => {
    const began = Date.now();
    let at = 0;
    for (let i = 0; i < 20; i += 1) await hints.add([hint('a')], 400);
    expect(await queue.getDelayedCount()).toBeLessThanOrEqual(4);
    work(() => {
      at ||= Date.now();
    });
    await eventually('the job ran', () => at > 0);
    expect(at - began).toBeGreaterThanOrEqual(395);
    expect(at - began).toBeLessThan(3_000);
  });

  it('with a delay does not block an immediate hint', async () => {
    let runs = 0;
    await hints.add([hint('a')], 60_000);
    work(() => {
      runs += 1;
    });
    await hints.add([hint('a')]);
    await eventually('the job ran', () => runs === 1);
    expect(await queue.getDelayedCount()).toBe(1);
  });

  it('leaves no job behind if its job fails, and can be added again', async () => {
    let runs = 0;
    work(() => {
      runs += 1;
      throw new Error('Redis was away');
    });
    await hints.add([hint('a')]);
    await eventually('the job is removed', async () => runs === 1 && (await empty()));
    await hints.add([hint('a')]);
    await eventually('the job ran again', async () => runs === 2 && (await empty()));
  });
});
