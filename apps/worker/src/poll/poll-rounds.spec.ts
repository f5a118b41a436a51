import { beforeEach, expect, it } from '@jest/globals';
import type { Account } from '#accounts';
import { createLogger } from '#platform';
import { UpstreamUnreachableError } from '#upstream';
import { eventually } from '../../../../test/support/eventually.js';
import type { RoleRounds } from '../round-schedule.js';
import { type PollRoundParts, pollRounds } from './poll-rounds.js';

const ACCOUNT = 'default';
const OUTAGE = { since: 0, kind: 'away', reason: 'test' } as const;

let polling: boolean;
let requestsPerSecond: number;
let isHeld: boolean;
let dueInMs: number | undefined;
let listRequested: boolean;
let calls: string[];
let remindCount: number;
let isLimitedByBudget: boolean;
let dueCount: number;
let nextDueInMs: number | undefined;
let listErrors: (Error | undefined)[];
let listEnds: Promise<void>;
let rounds: RoleRounds;

beforeEach(() => {
  [polling, isHeld, dueInMs, dueCount, nextDueInMs] = [true, false, undefined, 0, undefined];
  [requestsPerSecond, isLimitedByBudget] = [10, false];
  [listRequested, calls, remindCount, listErrors] = [false, [], 0, []];
  listEnds = Promise.resolve();
  const parts: PollRoundParts = {
    store: { consumeContactListPollRequest: () => Promise.resolve(listRequested) },
    survey: {
      read: () =>
        Promise.resolve({
          isListPollRequested: listRequested,
          due: dueCount,
          ...(dueInMs === undefined ? {} : { dueInMs }),
        }),
    },
    contacts: {
      poll: () => {
        calls.push('list read');
        const error = listErrors.shift();
        return error === undefined ? listEnds : Promise.reject(error);
      },
    },
    accounts: { find: () => Promise.resolve({ id: ACCOUNT, polling, requestsPerSecond } as Account) },
    polls: { addRecurring: () => Promise.resolve(void (remindCount += 1)) },
    poller: {
      checkAndWait: () => {
        calls.push('polled in this worker');
        return Promise.resolve(nextDueInMs);
      },
      isLimitedByBudget: () => isLimitedByBudget,
    },
    health: { outage: () => Promise.resolve(isHeld ? OUTAGE : undefined) },
    probe: { run: () => Promise.resolve('recovered') },
    probeTimes: { nextTurnInMs: () => Promise.resolve(isHeld ? 400 : undefined) },
    agenda: { announce: (_, round) => void calls.push(round) },
    contactsEveryMs: 30_000,
    logger: createLogger('test', 'silent'),
  };
  rounds = pollRounds(parts);
});

const run = (name: string): Promise<unknown> =>
  rounds.rounds[name]?.run(ACCOUNT) ?? Promise.reject(new Error(name));

it('a worker that finds many due contacts of an account queues one job that any worker can take, and checks the account again 250 ms later', async () => {
  [dueInMs, dueCount] = [0, 5];
  expect([await run('due'), remindCount, calls]).toEqual([250, 1, []]);
});

it.each([
  [2, 500],
  [0.1, 1_000],
])(
  'a worker queues jobs for an account with many due contacts less often if the budget is small: at %d requests per second, every %d ms',
  async (rate, ms) => {
    [requestsPerSecond, dueInMs, dueCount] = [rate, 0, 5];
    expect([await run('due'), remindCount]).toEqual([ms, 1]);
  },
);

it('a worker queues no job for an account that it polls as fast as the budget allows, and checks the account again two seconds later', async () => {
  [dueInMs, dueCount, isLimitedByBudget] = [0, 5, true];
  expect([await run('due'), remindCount, calls]).toEqual([2_000, 0, []]);
});

it('a worker polls a few due contacts itself without a queued job, and checks again when the next contact is due', async () => {
  [dueInMs, dueCount] = [0, 1];
  expect([await run('due'), remindCount, calls]).toEqual([1_000, 0, ['polled in this worker']]);
  nextDueInMs = 170_000;
  expect(await run('due')).toBe(170_000);
});

it('a worker checks an account again when the next contact of the account is due, and never if the account has no contacts', async () => {
  dueInMs = 170_000;
  expect(await run('due')).toBe(170_000);
  dueInMs = undefined;
  expect(await run('due')).toBeUndefined();
  expect(remindCount).toBe(0);
});

it('a worker polls nothing for an account whose polling is turned off', async () => {
  [polling, dueInMs, dueCount, listRequested] = [false, 0, 1, true];
  expect([await run('due'), await run('contacts')]).toEqual([undefined, undefined]);
  dueCount = 5;
  expect(await run('due')).toBeUndefined();
  expect(remindCount).toBe(0);
  expect(await rounds.survey(ACCOUNT)).toEqual({ probe: undefined });
});

it('a worker polls nothing while upstream is unavailable, and schedules a probe that detects the end of the outage', async () => {
  [isHeld, dueInMs, dueCount] = [true, 0, 1];
  expect([await run('due'), await run('contacts')]).toEqual([5_000, 5_000]);
  dueCount = 5;
  expect([await run('due'), remindCount]).toEqual([5_000, 0]);
  expect(calls.filter((round) => round === 'probe')).toHaveLength(3);
});

it('a worker schedules the due polls of an account at once when a probe finds that the outage has ended', async () => {
  expect(await run('probe')).toBe(500);
  expect(calls).toEqual(['due', 'survey']);
});

it('a worker reads the contact list at the configured interval, even after a failed read', async () => {
  listErrors = [undefined, new UpstreamUnreachableError('ECONNREFUSED')];
  expect([await run('contacts'), await run('contacts')]).toEqual([{ everyMs: 30_000 }, { everyMs: 30_000 }]);
  expect(calls).toEqual(['list read', 'list read']);
});

it('a worker retries a requested read of the contact list five seconds after a failure, not only at the configured interval', async () => {
  listErrors = [new UpstreamUnreachableError('ECONNREFUSED'), new UpstreamUnreachableError('ECONNREFUSED')];
  listRequested = true;
  expect(await run('contacts')).toBe(5_000);
  listRequested = false;
  expect(await run('contacts')).toBe(5_000);
  expect(await run('contacts')).toEqual({ everyMs: 30_000 });
});

it('a worker calculates when the next contact, contact list read and probe of an account are due', async () => {
  [isHeld, dueInMs] = [true, 700];
  expect(await rounds.survey(ACCOUNT)).toEqual({ due: 700, contacts: { everyMs: 30_000 }, probe: 400 });
  listRequested = true;
  expect(await rounds.survey(ACCOUNT)).toMatchObject({ contacts: 0 });
});

it('a worker reads contact lists in at most half of the tasks that it runs at the same time, so that due contacts are polled while upstreams hang', async () => {
  let end = (): void => undefined;
  listEnds = new Promise((resolve) => (end = resolve));
  const delayed: unknown[] = [];
  const runs = Array.from({ length: 300 }, () => run('contacts'));
  for (const one of runs) void one.then((next) => delayed.push(next));
  await eventually('the other reads are delayed', () => Promise.resolve(delayed.length === 300 - 128));
  expect(new Set(delayed)).toEqual(new Set([5_000]));
  expect(calls).toHaveLength(128);
  end();
  await Promise.all(runs);
  expect(await run('contacts')).toEqual({ everyMs: 30_000 });
});
