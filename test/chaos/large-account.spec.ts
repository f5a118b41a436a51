import { beforeAll, describe, expect, it } from '@jest/globals';
import { type AccountCost, measureAccount } from './large-account-trial.js';

const SCHEDULED_WITHIN_MS = 60_000;
const MOST_BYTES = 400;
const MOST_MEMORY = 1.5;
/** Of a poll's cost: what two runs on a busy machine differ by anyway. */
const NOISE = 1.5;

let small: AccountCost;
let large: AccountCost;

beforeAll(async () => {
  small = await measureAccount(1_000);
  large = await measureAccount(100_000);
  process.stdout.write(`Large account: ${JSON.stringify({ small, large }, undefined, 1)}\n`);
}, 600_000);

describe('an account of 100,000 contacts', () => {
  it('has all of them scheduled within a minute of its first list', () => {
    expect(large.scheduledMs).toBeLessThanOrEqual(SCHEDULED_WITHIN_MS);
  });

  it('costs at most 400 bytes of Redis a contact for its schedule', () => {
    expect(large.scheduleBytes).toBeLessThanOrEqual(MOST_BYTES);
  });

  it('takes at most 1.5 times the worker’s memory that 1,000 contacts take', () => {
    expect(large.rss / small.rss).toBeLessThanOrEqual(MOST_MEMORY);
  });

  it('pays for a poll what an account of 1,000 pays: those that are not due cost nothing', () => {
    expect(large.workerMsAPoll / small.workerMsAPoll).toBeLessThanOrEqual(NOISE);
    expect(large.redisMsAPoll / small.redisMsAPoll).toBeLessThanOrEqual(NOISE);
  });
});
