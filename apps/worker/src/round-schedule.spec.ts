import { afterEach, expect, it, jest } from '@jest/globals';
import { AccountNotFoundError } from '#accounts';
import { type AgendaTime, createLogger } from '#platform';
import { eventually } from '../../../test/support/eventually.js';
import { MemoryAgenda } from '../../../test/support/memory-agenda.js';
import { WakeUps } from '../../../test/support/wake-ups.js';
import { type Round, RoundSchedule } from './round-schedule.js';

interface ScheduleOptions {
  run: Round['run'];
  survey?: (account: string) => Promise<Record<string, AgendaTime | undefined>>;
  logLines?: string[];
  wakeUps?: WakeUps;
}

function scheduleOf({
  run,
  survey = () => Promise.resolve({}),
  logLines = [],
  wakeUps = new WakeUps(false),
}: ScheduleOptions): {
  schedule: RoundSchedule;
  agenda: MemoryAgenda;
  due: (...accounts: string[]) => Promise<void>;
} {
  const agenda = new MemoryAgenda();
  const logger = createLogger('test', 'trace', { write: (line) => logLines.push(line) });
  const schedule = new RoundSchedule(
    agenda,
    { tickMs: 250, rounds: { look: { run } }, survey },
    logger,
    wakeUps,
  );
  const due = (...accounts: string[]): Promise<void> =>
    agenda.schedule(accounts.map((account) => ({ account, round: 'look', time: 0 })));
  return { schedule, agenda, due };
}

it('the scheduler of periodic work runs the due work of each account, and nothing that is not due', async () => {
  const ran: string[] = [];
  const { schedule, agenda, due } = scheduleOf({ run: (id) => Promise.resolve(void ran.push(id)) });
  await due('a', 'b');
  await agenda.schedule([{ account: 'idle', round: 'look', time: 60_000 }]);
  await schedule.run();
  await schedule.run();
  expect(ran).toEqual(['a', 'b']);
});

it('the scheduler of periodic work runs work of an account again at the time that the previous run of this work requested', async () => {
  const times: Record<string, AgendaTime | undefined> = { a: 700, b: { everyMs: 60_000 } };
  const { schedule, agenda, due } = scheduleOf({ run: (id) => Promise.resolve(times[id]) });
  for (const id of ['a', 'b', 'c']) schedule.added(id, false);
  await due('a', 'b', 'c');
  await schedule.run();
  expect(agenda.times()).toMatchObject({ 'look a': 700, 'look b': { everyMs: 60_000 } });
  expect(agenda.times()).not.toHaveProperty('look c');
});

it.each<[string, AgendaTime]>([
  ['at a certain time', 5_000],
  ['regularly', { everyMs: 60_000 }],
])(
  'the scheduler of periodic work ends the work of an account that was removed while no worker ran, also work that requests to run again %s',
  async (_, next) => {
    const ran: string[] = [];
    const { schedule, agenda, due } = scheduleOf({
      run: (id) => {
        ran.push(`look ${id}`);
        return Promise.resolve(next);
      },
      survey: (id) => {
        ran.push(`survey ${id}`);
        return Promise.resolve({ look: 300 });
      },
    });
    await due('removed');
    await agenda.schedule([{ account: 'removed', round: 'survey', time: 0 }]);
    await schedule.run();
    expect(ran).toEqual(['look removed']);
    expect(agenda.times()).toEqual({});
  },
);

it('the scheduler of periodic work runs the work of other accounts while the work of one account hangs', async () => {
  const ran: string[] = [];
  const { schedule, due } = scheduleOf({
    run: (id) => {
      ran.push(id);
      return id === 'hangs' ? new Promise(() => undefined) : Promise.resolve(undefined);
    },
  });
  await due('hangs', 'a', 'b');
  await schedule.run();
  await due('a', 'b');
  await schedule.run();
  expect(ran).toEqual(['hangs', 'a', 'b', 'a', 'b']);
});

it('the scheduler of periodic work logs failed work, and retries the work unless the account was removed; an AccountNotFoundError is not logged', async () => {
  const logLines: string[] = [];
  const { schedule, agenda, due } = scheduleOf({
    logLines,
    run: (id) => {
      if (id === 'gone') return Promise.reject(new AccountNotFoundError(id));
      return id.endsWith('broken') ? Promise.reject(new Error('no')) : Promise.resolve(undefined);
    },
  });
  schedule.added('broken', false);
  await eventually('the account is checked', () => agenda.tasks.size === 1);
  await due('gone', 'gone and broken', 'broken', 'a');
  await schedule.run();
  expect(agenda.times()).toMatchObject({ 'look broken': 1_000 });
  expect(Object.keys(agenda.times()).sort()).toEqual(['look broken', 'survey broken']);
  expect(logLines.map((line) => JSON.parse(line) as object)).toMatchObject(
    ['gone and broken', 'broken'].map((account) => ({ account, round: 'look', err: { words: 'no' } })),
  );
});

it('the scheduler of periodic work drops a task with an unknown name that another build stored', async () => {
  const { schedule, agenda } = scheduleOf({ run: () => Promise.resolve(undefined) });
  await agenda.schedule([{ account: 'a', round: 'of a later build', time: 0 }]);
  await schedule.run();
  expect(agenda.times()).toEqual({});
});

it('the scheduler of periodic work determines soon after its start which work each existing account needs, and schedules that work', async () => {
  const { schedule, agenda } = scheduleOf({
    run: () => Promise.resolve(undefined),
    survey: (account) => Promise.resolve({ look: account === 'busy' ? 300 : undefined }),
  });
  schedule.added('busy', false);
  schedule.added('idle', false);
  await eventually('both tasks are on the agenda', () => agenda.tasks.size === 2);
  // The surveys are spread over time.
  expect(agenda.times()).toEqual({ 'survey busy': 0, 'survey idle': 5 });
  await agenda.schedule([{ account: 'idle', round: 'survey', time: 0 }]);
  await schedule.run();
  const nextSurvey = { everyMs: 60_000 };
  expect(agenda.times()).toEqual({ 'look busy': 300, 'survey busy': nextSurvey, 'survey idle': nextSurvey });
});

it('the scheduler of periodic work checks an added or changed account at once, and deletes the tasks of a removed account', async () => {
  const { schedule, agenda, due } = scheduleOf({ run: () => Promise.resolve(undefined) });
  schedule.added('a', true);
  schedule.changed('b');
  await eventually('both tasks are on the agenda', () => agenda.tasks.size === 2);
  expect(agenda.times()).toEqual({ 'survey a': 0, 'survey b': 0 });
  await due('a');
  schedule.removed('a');
  expect(agenda.times()).toEqual({ 'survey b': 0 });
});

it('the scheduler of periodic work, while it stops, waits for running work to end and starts no other work', async () => {
  let end = (): void => undefined;
  let ran = 0;
  const { schedule, agenda, due } = scheduleOf({
    run: () => {
      ran += 1;
      return new Promise((resolve) => {
        end = () => {
          resolve(undefined);
        };
      });
    },
  });
  await due('slow');
  await schedule.run();
  let stopped = false;
  const stop = schedule.stop().then(() => (stopped = true));
  await due('other');
  await schedule.run();
  expect([ran, stopped, agenda.wakeUps]).toEqual([1, false, 0]);
  end();
  await stop;
  // Other workers may not know yet when the ended task is due again.
  expect(agenda.wakeUps).toBe(1);
});

it('the scheduler of periodic work, when it stops, leaves due tasks that have not started to other workers', async () => {
  let end = (): void => undefined;
  const held = new Promise<undefined>((resolve) => {
    end = () => {
      resolve(undefined);
    };
  });
  const ran: string[] = [];
  const { schedule, agenda, due } = scheduleOf({
    run: (id) => {
      ran.push(id);
      return held;
    },
  });
  const ids = Array.from({ length: 40 }, (_, i) => `a${i}`);
  await due(...ids);
  const running = schedule.run();
  await Promise.resolve();
  const stop = schedule.stop();
  end();
  await Promise.all([running, stop]);
  expect(ran.length).toBeLessThan(ids.length);
  const waiting = ids.filter((id) => !ran.includes(id)).map((id) => [`look ${id}`, 0]);
  expect(agenda.times()).toEqual(Object.fromEntries(waiting));
});

afterEach(() => {
  jest.useRealTimers();
});

it('the scheduler of periodic work frees Redis memory while Redis is full, although the agenda (the due times in Redis) cannot be read', async () => {
  jest.useFakeTimers();
  const agenda = new MemoryAgenda();
  agenda.claimDue = () => Promise.reject(new Error('OOM'));
  let isFull = false;
  const relieved: string[] = [];
  const relief = {
    isNeeded: () => Promise.resolve(isFull),
    run: (account: string) => Promise.resolve(void relieved.push(account)),
  };
  const role = { tickMs: 250, rounds: {}, survey: () => Promise.resolve({}), relief };
  const logger = createLogger('test', 'silent');
  const schedule = new RoundSchedule(agenda, role, logger, new WakeUps(false));
  schedule.added('a', true);
  schedule.added('b', true);
  schedule.start();
  await jest.advanceTimersByTimeAsync(20_000);
  expect(relieved).toEqual([]);
  isFull = true;
  await jest.advanceTimersByTimeAsync(6_000);
  expect(relieved).toEqual(['a', 'b']);
  await schedule.stop();
  await jest.advanceTimersByTimeAsync(20_000);
  expect(relieved).toEqual(['a', 'b']);
});

it('the scheduler of periodic work frees the memory of all other accounts while Redis is full, even if the records of one account cannot be removed', async () => {
  jest.useFakeTimers();
  const logLines: string[] = [];
  const relieved: string[] = [];
  const relief = {
    isNeeded: () => Promise.resolve(true),
    run: (account: string) =>
      account === 'broken' ? Promise.reject(new Error('no')) : Promise.resolve(void relieved.push(account)),
  };
  const role = { tickMs: 250, rounds: {}, survey: () => Promise.resolve({}), relief };
  const logger = createLogger('test', 'warn', { write: (line) => logLines.push(line) });
  const schedule = new RoundSchedule(new MemoryAgenda(), role, logger, new WakeUps(false));
  for (const account of ['a', 'broken', 'b']) schedule.added(account, true);
  schedule.start();
  await jest.advanceTimersByTimeAsync(6_000);
  await schedule.stop();
  expect(relieved).toEqual(['a', 'b']);
  expect(logLines.map((line) => JSON.parse(line) as object)).toContainEqual(
    expect.objectContaining({ account: 'broken', err: expect.objectContaining({ words: 'no' }) as unknown }),
  );
});

it('the scheduler of periodic work sends no second command of a kind to Redis while Redis does not answer the first', async () => {
  jest.useFakeTimers();
  const { schedule, agenda, due } = scheduleOf({ run: () => new Promise(() => undefined) });
  const ensures = jest.spyOn(agenda, 'addMissing').mockReturnValue(new Promise(() => undefined));
  const renewals = jest.spyOn(agenda, 'renew').mockReturnValue(new Promise(() => undefined));
  await due('slow');
  schedule.start();
  await jest.advanceTimersByTimeAsync(600_000);
  expect([ensures.mock.calls.length, renewals.mock.calls.length]).toEqual([1, 1]);
});

it('the scheduler of periodic work frees the memory of each account once after Redis did not answer for a long time', async () => {
  jest.useFakeTimers();
  let answer = (): void => undefined;
  const isNeeded = new Promise<boolean>((resolve) => {
    answer = () => {
      resolve(true);
    };
  });
  const relieved: string[] = [];
  const relief = {
    isNeeded: () => isNeeded,
    run: (account: string) => {
      relieved.push(account);
      return new Promise<void>(() => undefined);
    },
  };
  const role = { tickMs: 250, rounds: {}, survey: () => Promise.resolve({}), relief };
  const schedule = new RoundSchedule(
    new MemoryAgenda(),
    role,
    createLogger('test', 'silent'),
    new WakeUps(false),
  );
  schedule.added('a', true);
  schedule.start();
  await jest.advanceTimersByTimeAsync(600_000);
  answer();
  await jest.advanceTimersByTimeAsync(60_000);
  expect(relieved).toEqual(['a']);
});

it('the scheduler of periodic work, if it gets no wake-ups, sleeps until the next task is due, but never longer than tickMs', async () => {
  jest.useFakeTimers();
  const ran: string[] = [];
  const { schedule, agenda, due } = scheduleOf({ run: (id) => Promise.resolve(void ran.push(id)) });
  let reads = 0;
  const claimDue = agenda.claimDue.bind(agenda);
  agenda.claimDue = (count, leaseMs) => {
    reads += 1;
    return claimDue(count, leaseMs);
  };
  schedule.start();
  await jest.advanceTimersByTimeAsync(1_000);
  // One read per tick of 250 ms, and the first at once.
  expect(reads).toBeLessThanOrEqual(5);
  // Another process makes this task due.
  await due('a');
  await jest.advanceTimersByTimeAsync(250);
  expect(ran).toEqual(['a']);
  await agenda.schedule([{ account: 'b', round: 'look', time: 100 }]);
  await jest.advanceTimersByTimeAsync(250);
  reads = 0;
  // In this agenda, the task stays due in 100 ms.
  await jest.advanceTimersByTimeAsync(1_000);
  expect(reads).toBeGreaterThanOrEqual(9);
  await schedule.stop();
});

it('the scheduler of periodic work, if it gets wake-ups, sleeps until a task is due or another process wakes it', async () => {
  jest.useFakeTimers();
  const ran: string[] = [];
  const wakeUps = new WakeUps();
  const { schedule, agenda, due } = scheduleOf({ run: (id) => Promise.resolve(void ran.push(id)), wakeUps });
  const claimDue = jest.spyOn(agenda, 'claimDue');
  schedule.start();
  await jest.advanceTimersByTimeAsync(4_000);
  expect(claimDue).toHaveBeenCalledTimes(1);
  await due('a');
  wakeUps.onSooner(0);
  await jest.advanceTimersByTimeAsync(20);
  expect(ran).toEqual(['a']);
  claimDue.mockClear();
  // The task becomes due while the worker sleeps.
  wakeUps.onSooner(1_000);
  await jest.advanceTimersByTimeAsync(900);
  expect(claimDue).not.toHaveBeenCalled();
  await due('b');
  await jest.advanceTimersByTimeAsync(110);
  expect(ran).toEqual(['a', 'b']);
  await schedule.stop();
});

it('the scheduler of periodic work finds a due task within five seconds after a single lost wake-up, and within one tick (250 ms) while no wake-ups can arrive', async () => {
  jest.useFakeTimers();
  const ran: string[] = [];
  const wakeUps = new WakeUps();
  const { schedule, due } = scheduleOf({ run: (id) => Promise.resolve(void ran.push(id)), wakeUps });
  schedule.start();
  await jest.advanceTimersByTimeAsync(100);
  await due('a');
  await jest.advanceTimersByTimeAsync(5_000);
  expect(ran).toEqual(['a']);
  wakeUps.isReliable = false;
  wakeUps.onSooner(0);
  await jest.advanceTimersByTimeAsync(20);
  await due('b');
  await jest.advanceTimersByTimeAsync(250);
  expect(ran).toEqual(['a', 'b']);
  await schedule.stop();
});

it('the scheduler of periodic work renews the leases of running work only while work runs', async () => {
  jest.useFakeTimers();
  let end = (): void => undefined;
  const { schedule, agenda, due } = scheduleOf({
    wakeUps: new WakeUps(),
    run: () =>
      new Promise(
        (resolve) =>
          (end = (): void => {
            resolve(undefined);
          }),
      ),
  });
  await due('slow');
  const ended = schedule.run();
  await jest.advanceTimersByTimeAsync(2_000);
  expect(agenda.renewed).toEqual(['look slow', 'look slow']);
  end();
  await jest.advanceTimersByTimeAsync(0);
  await ended;
  await jest.advanceTimersByTimeAsync(2_000);
  expect(agenda.renewed).toEqual(['look slow', 'look slow']);
});
