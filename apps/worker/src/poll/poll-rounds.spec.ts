import { beforeEach, expect, it } from '@jest/globals';
import type { Account } from '#accounts';
import { createLogger } from '#platform';
import { UpstreamUnreachableError } from '#upstream';
import type { RoleRounds } from '../rounds.js';
import { type PollRoundParts, pollRounds } from './poll-rounds.js';

const ACCOUNT = 'default';

let polling: boolean;
let isHeld: boolean;
let dueInMs: number | undefined;
let listRequested: boolean;
let calls: string[];
let remindCount: number;
let dueCount: number;
let nextDueInMs: number | undefined;
let listErrors: (Error | undefined)[];
let rounds: RoleRounds;

beforeEach(() => {
  [polling, isHeld, dueInMs, dueCount, nextDueInMs] = [true, false, undefined, 0, undefined];
  [listRequested, calls, remindCount, listErrors] = [false, [], 0, []];
  const parts: PollRoundParts = {
    store: { takeListPollRequest: () => Promise.resolve(false) },
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
        return error === undefined ? Promise.resolve() : Promise.reject(error);
      },
    },
    accounts: { find: () => Promise.resolve({ id: ACCOUNT, polling } as Account) },
    polls: { addRecurring: () => Promise.resolve(void (remindCount += 1)) },
    poller: {
      checkAndWait: () => {
        calls.push('polled in this worker');
        return Promise.resolve(nextDueInMs);
      },
    },
    upstream: { isHeld: () => Promise.resolve(isHeld) },
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

it('wakes all workers for an account with many due contacts, and checks again at the next tick', async () => {
  [dueInMs, dueCount] = [0, 5];
  expect([await run('due'), remindCount, calls]).toEqual([250, 1, []]);
});

it('reads a few due contacts itself without a job, and runs again when the next contact is due', async () => {
  [dueInMs, dueCount] = [0, 1];
  expect([await run('due'), remindCount, calls]).toEqual([1_000, 0, ['polled in this worker']]);
  nextDueInMs = 170_000;
  expect(await run('due')).toBe(170_000);
});

it('schedules no round before the first contact is due, and none for an account without contacts', async () => {
  dueInMs = 170_000;
  expect(await run('due')).toBe(170_000);
  dueInMs = undefined;
  expect(await run('due')).toBeUndefined();
  expect(remindCount).toBe(0);
});

it('reads nothing for an account whose polling is off', async () => {
  [polling, dueInMs, dueCount, listRequested] = [false, 0, 1, true];
  expect([await run('due'), await run('contacts')]).toEqual([undefined, undefined]);
  dueCount = 5;
  expect(await run('due')).toBeUndefined();
  expect(remindCount).toBe(0);
  expect(await rounds.survey(ACCOUNT)).toEqual({ probe: undefined });
});

it('reads nothing while upstream is unavailable, and schedules a probe', async () => {
  [isHeld, dueInMs, dueCount] = [true, 0, 1];
  expect([await run('due'), await run('contacts')]).toEqual([5_000, 5_000]);
  dueCount = 5;
  expect([await run('due'), remindCount]).toEqual([5_000, 0]);
  expect(calls.filter((round) => round === 'probe')).toHaveLength(3);
});

it('schedules the waiting work when an outage has ended', async () => {
  expect(await run('probe')).toBe(500);
  expect(calls).toEqual(['due', 'survey']);
});

it('reads the contact list at its interval, also after a failed read', async () => {
  listErrors = [undefined, new UpstreamUnreachableError('ECONNREFUSED')];
  expect([await run('contacts'), await run('contacts')]).toEqual([{ everyMs: 30_000 }, { everyMs: 30_000 }]);
  expect(calls).toEqual(['list read', 'list read']);
});

it('surveys when contacts, the contact list and a probe are due', async () => {
  [isHeld, dueInMs] = [true, 700];
  expect(await rounds.survey(ACCOUNT)).toEqual({ due: 700, contacts: { everyMs: 30_000 }, probe: 400 });
  listRequested = true;
  expect(await rounds.survey(ACCOUNT)).toMatchObject({ contacts: 0 });
});
