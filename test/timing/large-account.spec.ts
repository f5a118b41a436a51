import { beforeAll, describe, expect, it } from '@jest/globals';
import { type AccountCost, measureAccount } from './large-account-trial.js';

const SCHEDULED_WITHIN_MS = 60_000;
const MAX_BYTES = 400;
const MAX_MEMORY_RATIO = 1.5;
/** Ratio by which two measurements on a busy machine may differ. */
const MAX_COST_RATIO = 1.5;

let small: AccountCost;
let large: AccountCost;

beforeAll(async () => {
  small = await measureAccount(1_000);
  large = await measureAccount(100_000);
  process.stdout.write(`Large account: ${JSON.stringify({ small, large }, undefined, 1)}\n`);
}, 600_000);

describe('an account of 100,000 contacts', () => {
  it('has all contacts scheduled for polling within a minute after the first read of the contact list', () => {
    expect(large.scheduledMs).toBeLessThanOrEqual(SCHEDULED_WITHIN_MS);
  });

  it('needs at most 400 bytes of Redis memory per contact for the poll schedule', () => {
    expect(large.scheduleBytes).toBeLessThanOrEqual(MAX_BYTES);
  });

  it('needs at most 1.5 times the worker memory of an account with 1,000 contacts', () => {
    expect(large.rss / small.rss).toBeLessThanOrEqual(MAX_MEMORY_RATIO);
  });

  it('needs at most 1.5 times the processor time per poll of an account with 1,000 contacts', () => {
    expect(large.workerMsPerPoll / small.workerMsPerPoll).toBeLessThanOrEqual(MAX_COST_RATIO);
    expect(large.redisMsPerPoll / small.redisMsPerPoll).toBeLessThanOrEqual(MAX_COST_RATIO);
  });
});
