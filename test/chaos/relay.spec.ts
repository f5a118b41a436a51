import { afterEach, describe, expect, it } from '@jest/globals';
import { eventually } from '../support/eventually.js';
import { startTestCluster } from '../support/redis-cluster.js';
import type { RedisLayout } from '../support/redis-process.js';
import { startTestRedis } from '../support/redis-server.js';
import { AppendOnlyWatch, RelayTrial, type RelayVerdict } from './relay-trial.js';

const SETTLED_WITHIN_MS = 180_000;
/**
 * Time limit with deleted contacts, in milliseconds. A look-up is complete after every contact of a number
 * was read, and one request in ten fails.
 */
const SETTLED_AMONG_OTHERS_MS = 360_000;
const KILLS = 20;
const DISTURBANCES = 120;
const LOST_MS = 2_000;
const FULL_SIZE = { sends: 2_000, recipients: 300 };
const SMALL_SIZE = { sends: 600, recipients: 100 };

let trial: RelayTrial<RedisLayout> | undefined;

afterEach(async () => {
  await trial?.[Symbol.asyncDispose]();
  trial = undefined;
}, 60_000);

const LAYOUTS: [string, () => Promise<RedisLayout>][] = [
  ['one Redis', startTestRedis],
  ['a Redis Cluster of three masters', startTestCluster],
];

function print(title: string, counts: object): void {
  process.stdout.write(`${title}: ${JSON.stringify(counts, undefined, 1)}\n`);
}

/** Checks the rules that must hold if Redis keeps all acknowledged writes. */
function expectNoFaults(verdict: RelayVerdict): void {
  expect(verdict.faults.slice(0, 20)).toEqual([]);
  expectBound(verdict);
}

/** Checks how many of the stored sends were matched with a message. */
function expectBound({ counts }: RelayVerdict): void {
  expect(counts.bound / counts.boundOf).toBeGreaterThanOrEqual(0.99);
  expect(counts.unknown).toBeLessThanOrEqual(counts.ambiguousFaults);
}

/**
 * Checks that unfinished sends were looked up before their POST, and that each process reported the
 * restart of Redis at most once.
 */
function expectSearchBeforePost(running: RelayTrial<RedisLayout>): void {
  const logs = running.workerLogs();
  expect(logs.join('\n')).toContain('the send may have been posted already; looking up its message first');
  const reports = logs.map((log) => log.match(/Redis restarted or failed over/g)?.length ?? 0);
  expect(Math.max(...reports)).toBe(1);
}

describe('the relay while upstream fails', () => {
  it.each(LAYOUTS)(
    'loses, duplicates and reorders none of 2,000 sends, even if workers are killed twenty times (Redis layout: %s)',
    async (layout, startLayout) => {
      const running = await RelayTrial.start(await startLayout(), FULL_SIZE);
      trial = running;
      const began = performance.now();
      await Promise.all([running.send(), running.kill(KILLS)]);
      const shown = await running.settle(SETTLED_WITHIN_MS);
      const verdict = await running.judge(shown);
      print(`On ${layout}`, { seconds: Math.round((performance.now() - began) / 1_000), ...verdict.counts });
      expect(running.unanswered.size).toBe(0);
      expectNoFaults(verdict);
      expect(Object.keys(verdict.counts.faults)).toHaveLength(15);
    },
    420_000,
  );
});

describe('the relay while contacts change', () => {
  it('loses, duplicates and reorders no send while contacts are deleted and recreated, phone numbers move to other contacts, and workers are suspended', async () => {
    const running = await RelayTrial.start(await startTestRedis(), SMALL_SIZE);
    trial = running;
    const began = performance.now();
    const stop = new AbortController();
    const operating = running.operate(stop.signal);
    const [disturbances] = await Promise.all([running.disturb(DISTURBANCES), running.send()]);
    const shown = await running.settle(SETTLED_AMONG_OTHERS_MS, { accepted: true });
    stop.abort();
    await operating;
    const verdict = await running.judge(shown);
    const seconds = Math.round((performance.now() - began) / 1_000);
    print('Contacts deleted, workers suspended', { seconds, ...disturbances, ...verdict.counts });
    expect(verdict.faults.slice(0, 20)).toEqual([]);
    const { unknown, ambiguousFaults } = verdict.counts;
    expect(unknown).toBeLessThanOrEqual(ambiguousFaults + disturbances.deleted + disturbances.held);
    expect(disturbances.suspended).toBe(4);
    expect(Math.min(disturbances.deleted, disturbances.held)).toBeGreaterThan(20);
  }, 540_000);
});

describe('the relay when Redis is killed', () => {
  it('loses no acknowledged send if Redis keeps every acknowledged write, even if workers are killed too', async () => {
    const redis = await startTestRedis();
    const running = await RelayTrial.start(redis, FULL_SIZE);
    trial = running;
    const began = performance.now();
    const sending = Promise.all([running.send(), running.kill(KILLS)]);
    await eventually(
      'a third of the sends is accepted',
      () => running.asked.length > FULL_SIZE.sends / 3,
      60_000,
    );
    redis.server.kill('SIGKILL');
    await redis.server.exited;
    await redis.server.restart();
    await sending;
    const shown = await running.settle(SETTLED_WITHIN_MS);
    const verdict = await running.judge(shown);
    print('Redis killed', {
      seconds: Math.round((performance.now() - began) / 1_000),
      unanswered: running.unanswered.size,
      ...verdict.counts,
    });
    expectNoFaults(verdict);
    expectSearchBeforePost(running);
  }, 420_000);

  it('sends no text twice after Redis lost the writes of its last two seconds', async () => {
    const redis = await startTestRedis();
    const running = await RelayTrial.start(redis, SMALL_SIZE);
    trial = running;
    const began = performance.now();
    using watch = await AppendOnlyWatch.on(redis.dataDirectory);
    const sending = running.send();
    await eventually(
      'a sixth of the sends is accepted',
      () => running.asked.length > SMALL_SIZE.sends / 6,
      60_000,
    );
    // On a fast machine all sends are accepted within seconds: the first ones must be older than what is lost.
    const keptMs = watch.watchedMs();
    await eventually(
      'what is recorded until now is kept',
      () => watch.watchedMs() > keptMs + LOST_MS,
      60_000,
    );
    redis.server.kill('SIGKILL');
    await redis.server.exited;
    const cutBytes = await watch.cutOff(LOST_MS);
    await redis.server.restart();
    await sending;
    const shown = await running.settle(SETTLED_WITHIN_MS);
    const verdict = await running.judge(shown);
    const of = (rule: string): number => verdict.faults.filter((fault) => fault.rule === rule).length;
    print('Redis killed, and its last two seconds cut off', {
      seconds: Math.round((performance.now() - began) / 1_000),
      ...{ cutBytes, lost: of('lost'), unanswered: running.unanswered.size, ...verdict.counts },
    });
    expect(cutBytes).toBeGreaterThan(0);
    expect(of('lost')).toBeGreaterThan(0);
    expect(verdict.faults.filter(({ rule }) => rule !== 'lost')).toEqual([]);
    expectBound(verdict);
    expectSearchBeforePost(running);
  }, 360_000);
});
