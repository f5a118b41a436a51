import { afterEach, describe, expect, it } from '@jest/globals';
import { startTestCluster } from '../support/redis-cluster.js';
import type { RedisLayout } from '../support/redis-process.js';
import { startTestRedis } from '../support/redis-server.js';
import { FeedTrial, tally } from './feed-trial.js';

let trial: FeedTrial<RedisLayout> | undefined;

afterEach(async () => {
  await trial?.[Symbol.asyncDispose]();
  trial = undefined;
}, 60_000);

const LAYOUTS: [string, () => Promise<RedisLayout>][] = [
  ['one Redis', startTestRedis],
  ['a Redis Cluster of three masters', startTestCluster],
];

describe('the polling of contacts', () => {
  it.each(LAYOUTS)(
    'reports each of 5,000 changes exactly once while a worker is killed every 5 s (Redis layout: %s)',
    async (layout, startLayout) => {
      trial = await FeedTrial.start(await startLayout());
      const began = performance.now();
      const kills = await trial.drive(true);
      const driveMs = Math.round(performance.now() - began);
      const { faults, events } = await trial.judge();
      const settledMs = Math.round(performance.now() - began) - driveMs;
      trial.print(`On ${layout}`, {
        ...{ kills, driveMs, settledMs, ...trial.oracle.counts(events), ...tally(faults) },
      });
      if (faults.length > 0) process.stdout.write(trial.complaints());
      expect(faults.slice(0, 20)).toEqual([]);
      expect(kills).toBeGreaterThanOrEqual(10);
    },
    480_000,
  );
});
