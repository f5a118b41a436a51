import { afterEach, describe, expect, it } from '@jest/globals';
import { eventually } from '../support/eventually.js';
import { startTestCluster } from '../support/redis-cluster.js';
import type { RedisLayout } from '../support/redis-process.js';
import { startTestRedis } from '../support/redis-server.js';
import { AppendOnlyWatch, RelayTrial, type RelayVerdict } from './relay-trial.js';

const SETTLED_WITHIN_MS = 180_000;
/** A look is complete once each contact of a number could be read, and here one request in ten fails. */
const SETTLED_AMONG_OTHERS_MS = 360_000;
const KILLS = 20;
const DISTURBANCES = 120;
const LOST_MS = 2_000;
const WHOLE = { sends: 2_000, recipients: 300 };
const PART = { sends: 600, recipients: 100 };

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

/** What holds however much goes wrong, where Redis keeps what it acknowledged. */
function expectSound(verdict: RelayVerdict): void {
  expect(verdict.faults.slice(0, 20)).toEqual([]);
  expectBound(verdict);
}

/** Of the sends that the gateway still knows. */
function expectBound({ counts }: RelayVerdict): void {
  expect(counts.bound / counts.boundOf).toBeGreaterThanOrEqual(0.99);
  expect(counts.unknown).toBeLessThanOrEqual(counts.ambiguousFaults);
}

/** Sends of the former life were looked for before they were posted; each process says at most once that it is over. */
function expectLookedFirst(running: RelayTrial<RedisLayout>): void {
  const logs = running.workerLogs();
  expect(logs.join('\n')).toContain('the send may have been posted already; searching for it before the POST');
  const told = logs.map((log) => log.match(/Redis restarted or failed over/g)?.length ?? 0);
  expect(Math.max(...told)).toBe(1);
}

describe('the relay under kills and faults', () => {
  it.each(LAYOUTS)(
    'on %s, of 2,000 sends to 300 recipients none is lost, none doubled, none out of order, though a worker dies twenty times',
    async (layout, startLayout) => {
      const running = await RelayTrial.start(await startLayout(), WHOLE);
      trial = running;
      const began = performance.now();
      await Promise.all([running.send(), running.kill(KILLS)]);
      const shown = await running.settle(SETTLED_WITHIN_MS);
      const verdict = await running.judge(shown);
      print(`On ${layout}`, { seconds: Math.round((performance.now() - began) / 1_000), ...verdict.counts });
      expect(running.unanswered.size).toBe(0);
      expectSound(verdict);
      expect(Object.keys(verdict.counts.faults)).toHaveLength(15);
    },
    420_000,
  );
});

describe('the relay while contacts come and go', () => {
  it('loses, doubles and swaps none, though contacts are deleted and made anew, numbers stand at others too, and a worker is suspended', async () => {
    const running = await RelayTrial.start(await startTestRedis(), PART);
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
    expect(disturbances.suspended).toBe(4);
    expect(Math.min(disturbances.deleted, disturbances.held)).toBeGreaterThan(20);
  }, 540_000);
});

describe('the relay when Redis dies', () => {
  it('loses nothing that was answered, where Redis keeps what it acknowledged, though workers die as well', async () => {
    const redis = await startTestRedis();
    const running = await RelayTrial.start(redis, WHOLE);
    trial = running;
    const began = performance.now();
    const sending = Promise.all([running.send(), running.kill(KILLS)]);
    await eventually('a third is sent', () => running.asked.length > WHOLE.sends / 3, 60_000);
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
    expectSound(verdict);
    expectLookedFirst(running);
  }, 420_000);

  it('texts nobody twice, though Redis forgot its last two seconds', async () => {
    const redis = await startTestRedis();
    const running = await RelayTrial.start(redis, PART);
    trial = running;
    const began = performance.now();
    using watch = await AppendOnlyWatch.on(redis.dataDirectory);
    const sending = running.send();
    await eventually(
      'a third is sent, and there are two seconds to lose',
      () => running.asked.length > PART.sends / 3 && watch.watchedMs() > LOST_MS,
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
    expectLookedFirst(running);
  }, 360_000);
});
