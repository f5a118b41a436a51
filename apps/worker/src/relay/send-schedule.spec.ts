import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { type AgendaTime, createLogger, type DueTasks, type TakenTask } from '#platform';
import { eventually } from '../../../../test/support/eventually.js';
import { SendSchedule } from './send-schedule.js';

const HOUR_MS = 3_600_000;
const TASK: TakenTask = { account: 'default', round: 'promote', claim: '1' };

let looks: number;
/** What the agenda answers, and afterwards again and again that nothing is due for an hour. */
let answers: (DueTasks | Error)[];
let promoted: string[];
let ended: [account: string, time: AgendaTime | undefined][];
let schedule: SendSchedule;

beforeEach(() => {
  [looks, answers, promoted, ended] = [0, [], [], []];
  const agenda = {
    takeDue: (): Promise<DueTasks> => {
      looks += 1;
      const answer = answers.shift() ?? { tasks: [], nextInMs: HOUR_MS };
      return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
    },
    next: (task: TakenTask, time: AgendaTime | undefined): Promise<void> => {
      ended.push([task.account, time]);
      return Promise.resolve();
    },
  };
  const rounds = {
    promote: (account: string): Promise<number | undefined> => {
      promoted.push(account);
      return account === 'broken' ? Promise.reject(new Error('no')) : Promise.resolve(700);
    },
  };
  schedule = new SendSchedule(rounds, agenda, createLogger('test', 'silent'), HOUR_MS);
});

afterEach(async () => {
  await schedule.onModuleDestroy();
});

it('sleeps until the next send is due, moves it, and notes when the account has the next one', async () => {
  answers = [{ tasks: [], nextInMs: 20 }, { tasks: [TASK] }];
  schedule.onApplicationBootstrap();
  await eventually('it looked after the send', () => looks === 3);
  expect(promoted).toEqual(['default']);
  expect(ended).toEqual([['default', 700]]);
});

it('tries again where sends could not be moved', async () => {
  answers = [{ tasks: [{ ...TASK, account: 'broken' }, TASK] }];
  schedule.onApplicationBootstrap();
  await eventually('both were ended', () => ended.length === 2);
  expect(new Map(ended)).toEqual(
    new Map([
      ['broken', 1_000],
      ['default', 700],
    ]),
  );
});

it('looks again when it is told of one that is scheduled for sooner', async () => {
  schedule.onApplicationBootstrap();
  await eventually('the first look', () => looks === 1);
  answers = [{ tasks: [TASK] }];
  schedule.look();
  await eventually('it was moved', () => promoted.length === 1);
});
