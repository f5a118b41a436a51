import { beforeEach, expect, it } from '@jest/globals';
import type { Account } from '#accounts';
import { createLogger } from '#platform';
import { UpstreamUnreachableError } from '#upstream';
import type { RoleRounds } from '../rounds.js';
import { type PollRoundParts, pollRounds } from './poll-rounds.js';

const A = 'default';

let polling: boolean;
let held: boolean;
let dueInMs: number | undefined;
let wantsList: boolean;
let told: string[];
let reminded: number;
let due: number;
let nextDueInMs: number | undefined;
let lists: (Error | undefined)[];
let rounds: RoleRounds;

beforeEach(() => {
  [polling, held, dueInMs, due, nextDueInMs] = [true, false, undefined, 0, undefined];
  [wantsList, told, reminded, lists] = [false, [], 0, []];
  const parts: PollRoundParts = {
    store: { takeListWish: () => Promise.resolve(false) },
    survey: {
      look: () => Promise.resolve({ wantsList, due, ...(dueInMs === undefined ? {} : { dueInMs }) }),
    },
    contacts: {
      poll: () => {
        told.push('list read');
        const error = lists.shift();
        return error === undefined ? Promise.resolve() : Promise.reject(error);
      },
    },
    accounts: { find: () => Promise.resolve({ id: A, polling } as Account) },
    polls: { remind: () => Promise.resolve(void (reminded += 1)) },
    here: {
      lookAndWait: () => {
        told.push('looked here');
        return Promise.resolve(nextDueInMs);
      },
    },
    upstream: { isHeld: () => Promise.resolve(held) },
    probe: { run: () => Promise.resolve('recovered') },
    probeTimes: { nextTurnInMs: () => Promise.resolve(held ? 400 : undefined) },
    agenda: { tell: (_, round) => void told.push(round) },
    contactsEveryMs: 30_000,
    logger: createLogger('test', 'silent'),
  };
  rounds = pollRounds(parts);
});

const run = (name: string): Promise<unknown> =>
  rounds.rounds[name]?.run(A) ?? Promise.reject(new Error(name));

it('hints all workers at an account with many contacts that are due, and looks again at the next tick', async () => {
  [dueInMs, due] = [0, 5];
  expect([await run('due'), reminded, told]).toEqual([250, 1, []]);
});

it('reads few contacts that are due itself, without a job, and comes again when the next one is due', async () => {
  [dueInMs, due] = [0, 1];
  expect([await run('due'), reminded, told]).toEqual([1_000, 0, ['looked here']]);
  nextDueInMs = 170_000;
  expect(await run('due')).toBe(170_000);
});

it('leaves an account alone until its first contact is due, and one without contacts altogether', async () => {
  dueInMs = 170_000;
  expect(await run('due')).toBe(170_000);
  dueInMs = undefined;
  expect(await run('due')).toBeUndefined();
  expect(reminded).toBe(0);
});

it('leaves an account alone that is not polled', async () => {
  [polling, dueInMs, due, wantsList] = [false, 0, 1, true];
  expect([await run('due'), await run('contacts')]).toEqual([undefined, undefined]);
  due = 5;
  expect(await run('due')).toBeUndefined();
  expect(reminded).toBe(0);
  expect(await rounds.survey(A)).toEqual({ probe: undefined });
});

it('reads nothing while upstream is away, and sees to it that it is probed', async () => {
  [held, dueInMs, due] = [true, 0, 1];
  expect([await run('due'), await run('contacts')]).toEqual([5_000, 5_000]);
  due = 5;
  expect([await run('due'), reminded]).toEqual([5_000, 0]);
  expect(told.filter((round) => round === 'probe')).toHaveLength(3);
});

it('takes up what waited when an outage is over', async () => {
  expect(await run('probe')).toBe(500);
  expect(told).toEqual(['due', 'survey']);
});

it('reads the list at its interval, also after a reading that failed', async () => {
  lists = [undefined, new UpstreamUnreachableError('ECONNREFUSED')];
  expect([await run('contacts'), await run('contacts')]).toEqual([{ everyMs: 30_000 }, { everyMs: 30_000 }]);
  expect(told).toEqual(['list read', 'list read']);
});

it('finds by a survey when contacts, the list and a probe are due', async () => {
  [held, dueInMs] = [true, 700];
  expect(await rounds.survey(A)).toEqual({ due: 700, contacts: { everyMs: 30_000 }, probe: 400 });
  wantsList = true;
  expect(await rounds.survey(A)).toMatchObject({ contacts: 0 });
});
