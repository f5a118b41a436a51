import { describe, expect, it } from '@jest/globals';
import { clockOff } from '../support/clock-off.js';
import {
  type FaultPlan,
  POLL_MAX_INTERVAL_MS,
  REQUESTS_PER_SECOND,
  tryPollFaults,
} from './poll-faults-trial.js';

const HOUR_MS = 3_600_000;
/** Every contact is read this often, whatever happens: a failed read may be retried, and its retry fail, too. */
const STARVED_AFTER_MS = 2 * POLL_MAX_INTERVAL_MS;
/** What a killed worker was reading, another one takes up this soon: its leases end after two seconds. */
const TAKEN_UP_WITHIN_MS = 3_000;
/** Where it was reading many (upstream takes 2 s for a reply), the budget lets them be read again one after another only. */
const allowedFor = (contacts: number): number =>
  Math.max(TAKEN_UP_WITHIN_MS, TAKEN_UP_WITHIN_MS - 500 + (contacts * 1_000) / REQUESTS_PER_SECOND);

const MESSAGES = { path: '/messages\\?' };
const seed = Number(process.env.POLL_FAULTS_SEED ?? Date.now() % 1_000_000);

const FAILING = { match: MESSAGES, fault: { kind: 'status', status: 500 }, probability: 0.2 };
const SLOW = { match: MESSAGES, fault: { kind: 'slow', delayMs: 2_000 }, times: 'always' };

const PLANS: [string, Omit<FaultPlan, 'seed'>][] = [
  ['two workers run at once', { workers: [{}, {}] }],
  [
    'one of two workers dies every 5 s, in the middle of its polls',
    {
      workers: [{}, {}],
      kills: true,
      // So that a kill strikes requests that are under way.
      faults: [{ match: MESSAGES, fault: { kind: 'slow', delayMs: 500 }, times: 'always' }],
    },
  ],
  ['one worker’s clock is an hour ahead', { workers: [clockOff(HOUR_MS), {}] }],
  ['one worker’s clock is an hour behind', { workers: [clockOff(-HOUR_MS), {}] }],
  ['the only worker’s clock is an hour ahead', { workers: [clockOff(HOUR_MS)] }],
  ['the workers’ clocks are two hours apart', { workers: [clockOff(HOUR_MS), clockOff(-HOUR_MS)] }],
  ['20 % of the polls fail', { workers: [{}, {}], faults: [FAILING] }],
  ['upstream takes 2 s for a reply', { workers: [{}, {}], faults: [SLOW] }],
  [
    'all of this comes at once',
    { workers: [clockOff(HOUR_MS), clockOff(-HOUR_MS)], kills: true, faults: [FAILING, SLOW] },
  ],
];

describe('the polls of 100 contacts at 20 requests a second', () => {
  it.each(PLANS)(
    'starve nobody, read nobody twice at once and tell everything once, while %s',
    async (what, plan) => {
      const { overlaps, ...outcome } = await tryPollFaults({ ...plan, seed });
      const print = { seed, overlaps: overlaps.length, ...outcome };
      process.stdout.write(`While ${what}: ${JSON.stringify(print)}\n`);
      expect(outcome).toMatchObject({ missing: 0, toldTwice: 0 });
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
