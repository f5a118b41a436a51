import { describe, expect, it } from '@jest/globals';
import { shiftedClock } from '../support/shifted-clock-environment.js';
import {
  type FaultPlan,
  POLL_MAX_INTERVAL_MS,
  REQUESTS_PER_SECOND,
  runPollFaultTrial,
} from './poll-faults-trial.js';

const HOUR_MS = 3_600_000;
/**
 * Maximum time between two reads of a contact, in milliseconds. A failed read may be retried, and the retry
 * may fail.
 */
const STARVED_AFTER_MS = 2 * POLL_MAX_INTERVAL_MS;
/**
 * Time within which another worker takes over the reads of a killed worker, in milliseconds. Their leases
 * expire after two seconds.
 */
const TAKEN_UP_WITHIN_MS = 3_000;
/**
 * Returns the maximum takeover time. A worker that was reading many contacts takes longer to replace, because
 * the budget limits the reads.
 */
const allowedFor = (contacts: number): number =>
  Math.max(TAKEN_UP_WITHIN_MS, TAKEN_UP_WITHIN_MS - 500 + (contacts * 1_000) / REQUESTS_PER_SECOND);

const MESSAGES = { path: '/messages\\?' };
const seed = Number(process.env.POLL_FAULTS_SEED ?? Date.now() % 1_000_000);

const FAILING = { match: MESSAGES, fault: { kind: 'status', status: 500 }, probability: 0.2 };
const SLOW = { match: MESSAGES, fault: { kind: 'slow', delayMs: 2_000 }, times: 'always' };

const PLANS: [string, Omit<FaultPlan, 'seed'>][] = [
  ['two workers run', { workers: [{}, {}] }],
  [
    'one of two workers is killed every 5 s during its polls',
    {
      workers: [{}, {}],
      kills: true,
      // Slow replies ensure that a kill interrupts running requests.
      faults: [{ match: MESSAGES, fault: { kind: 'slow', delayMs: 500 }, times: 'always' }],
    },
  ],
  ['one worker’s clock is an hour ahead', { workers: [shiftedClock(HOUR_MS), {}] }],
  ['one worker’s clock is an hour behind', { workers: [shiftedClock(-HOUR_MS), {}] }],
  ['the only worker’s clock is an hour ahead', { workers: [shiftedClock(HOUR_MS)] }],
  ['the workers’ clocks are two hours apart', { workers: [shiftedClock(HOUR_MS), shiftedClock(-HOUR_MS)] }],
  ['20 % of the polls fail', { workers: [{}, {}], faults: [FAILING] }],
  ['upstream takes 2 s for a reply', { workers: [{}, {}], faults: [SLOW] }],
  [
    'all faults happen at once',
    { workers: [shiftedClock(HOUR_MS), shiftedClock(-HOUR_MS)], kills: true, faults: [FAILING, SLOW] },
  ],
];

describe('the polls of 100 contacts at 20 requests per second', () => {
  it.each(PLANS)(
    'read every contact within twice the maximum poll interval, read no contact twice at the same time, and report every message once, while %s',
    async (what, plan) => {
      const { overlaps, ...outcome } = await runPollFaultTrial({ ...plan, seed });
      const print = { seed, overlaps: overlaps.slice(0, 5), ...outcome };
      process.stdout.write(`While ${what}: ${JSON.stringify(print)}\n`);
      expect(outcome).toMatchObject({ missing: 0, reportedTwice: 0 });
      expect(overlaps.slice(0, 5)).toEqual([]);
      expect(outcome.longestGapMs).toBeLessThanOrEqual(STARVED_AFTER_MS);
      expect(outcome.longestDelayMs).toBeLessThanOrEqual(STARVED_AFTER_MS);
      if (plan.kills !== true) return;
      expect(outcome.kills).toBeGreaterThanOrEqual(2);
      expect(Math.max(...outcome.takenUp.map(({ contacts }) => contacts))).toBeGreaterThan(0);
      expect(outcome.takenUp.filter(({ contacts, afterMs }) => afterMs > allowedFor(contacts))).toEqual([]);
    },
    300_000,
  );
});
