import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { type AgendaTime, createLogger, type DueTasks, type ClaimedTask } from '#platform';
import { eventually } from '../../../../test/support/eventually.js';
import { WakeUps } from '../../../../test/support/wake-ups.js';
import { SendSchedule } from './send-schedule.js';

const HOUR_MS = 3_600_000;
const TASK: ClaimedTask = { account: 'default', round: 'promote', claim: '1' };

let agendaReads: number;
/** Replies of the agenda, in order. After the last one, nothing is due for an hour. */
let agendaReplies: (DueTasks | Error)[];
let promoted: string[];
let ended: [account: string, time: AgendaTime | undefined][];
let schedule: SendSchedule;

beforeEach(() => {
  [agendaReads, agendaReplies, promoted, ended] = [0, [], [], []];
  start();
});

function start(wakeUps = new WakeUps(false)): void {
  const agenda = {
    claimDue: (): Promise<DueTasks> => {
      agendaReads += 1;
      const answer = agendaReplies.shift() ?? { tasks: [], nextInMs: HOUR_MS };
      return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
    },
    complete: (task: ClaimedTask, time: AgendaTime | undefined): Promise<undefined> => {
      ended.push([task.account, time]);
      return Promise.resolve(undefined);
    },
  };
  const rounds = {
    promote: (account: string): Promise<number | undefined> => {
      promoted.push(account);
      return account === 'broken' ? Promise.reject(new Error('no')) : Promise.resolve(700);
    },
  };
  schedule = new SendSchedule(rounds, agenda, createLogger('test', 'silent'), wakeUps, {
    withoutWakeUpsMs: HOUR_MS,
    withWakeUpsMs: HOUR_MS,
  });
}

afterEach(async () => {
  await schedule.onModuleDestroy();
});

it('the schedule of future sends sleeps until the next send is due, queues the send, and stores when the next send of the account is due', async () => {
  agendaReplies = [{ tasks: [], nextInMs: 20 }, { tasks: [TASK] }];
  schedule.onApplicationBootstrap();
  await eventually('the agenda was read after the send was queued', () => agendaReads === 3);
  expect(promoted).toEqual(['default']);
  expect(ended).toEqual([['default', 700]]);
});

it('the schedule of future sends tries an account again after a second if its sends could not be queued', async () => {
  agendaReplies = [{ tasks: [{ ...TASK, account: 'broken' }, TASK] }];
  schedule.onApplicationBootstrap();
  await eventually('the tasks of both accounts ended', () => ended.length === 2);
  expect(new Map(ended)).toEqual(
    new Map([
      ['broken', 1_000],
      ['default', 700],
    ]),
  );
});

it('the schedule of future sends wakes up and reads the due times again when a send that is due earlier is scheduled', async () => {
  schedule.onApplicationBootstrap();
  await eventually('the agenda was read once', () => agendaReads === 1);
  agendaReplies = [{ tasks: [TASK] }];
  schedule.readAgendaNow();
  await eventually('the send was queued', () => promoted.length === 1);
});

it('the schedule of future sends reads the due times again when another process schedules a send that is due earlier', async () => {
  const wakeUps = new WakeUps();
  start(wakeUps);
  schedule.onApplicationBootstrap();
  await eventually('the agenda was read once', () => agendaReads === 1);
  agendaReplies = [{ tasks: [TASK] }];
  wakeUps.onSooner(0);
  await eventually('the send was queued', () => promoted.length === 1);
});
