import { afterEach, expect, it, jest } from '@jest/globals';
import { AccountGoneError } from '#accounts';
import { type AgendaTime, createLogger } from '#platform';
import { eventually } from '../../../test/support/eventually.js';
import { MemoryAgenda } from '../../../test/support/memory-agenda.js';
import { type Round, RoundSchedule } from './rounds.js';

const QUEUE = { on: () => undefined } as unknown as ConstructorParameters<typeof RoundSchedule>[0];

interface Setting {
  run: Round['run'];
  survey?: (account: string) => Promise<Record<string, AgendaTime | undefined>>;
  lines?: string[];
}

function scheduleOf({ run, survey = () => Promise.resolve({}), lines = [] }: Setting): {
  schedule: RoundSchedule;
  agenda: MemoryAgenda;
  due: (...accounts: string[]) => Promise<void>;
} {
  const agenda = new MemoryAgenda();
  const logger = createLogger('test', 'trace', { write: (line) => lines.push(line) });
  const schedule = new RoundSchedule(
    QUEUE,
    agenda,
    { tickMs: 250, rounds: { look: { run } }, survey },
    logger,
  );
  const due = (...accounts: string[]): Promise<void> =>
    agenda.at(accounts.map((account) => ({ account, round: 'look', time: 0 })));
  return { schedule, agenda, due };
}

it('runs what is due of the accounts for which it is due, and of no others', async () => {
  const ran: string[] = [];
  const { schedule, agenda, due } = scheduleOf({ run: (id) => Promise.resolve(void ran.push(id)) });
  await due('a', 'b');
  await agenda.at([{ account: 'idle', round: 'look', time: 60_000 }]);
  await schedule.run();
  await schedule.run();
  expect(ran).toEqual(['a', 'b']);
});

it('puts a round on the agenda again for when it says, and only then', async () => {
  const times: Record<string, AgendaTime | undefined> = { a: 700, b: { everyMs: 60_000 } };
  const { schedule, agenda, due } = scheduleOf({ run: (id) => Promise.resolve(times[id]) });
  await due('a', 'b', 'c');
  await schedule.run();
  expect(agenda.times()).toEqual({ 'look a': 700, 'look b': { everyMs: 60_000 } });
});

it('goes on with the others although the round of one account hangs', async () => {
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

it('tells of a round that failed and has it come again; of none whose account is gone', async () => {
  const lines: string[] = [];
  const { schedule, agenda, due } = scheduleOf({
    lines,
    run: (id) => {
      if (id === 'gone') return Promise.reject(new AccountGoneError(id));
      return id === 'broken' ? Promise.reject(new Error('no')) : Promise.resolve(undefined);
    },
  });
  await due('gone', 'broken', 'a');
  await schedule.run();
  expect(agenda.times()).toEqual({ 'look broken': 1_000 });
  expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
    { account: 'broken', round: 'look', err: { words: 'no' } },
  ]);
});

it('drops what another build put there under a name that this one does not know', async () => {
  const { schedule, agenda } = scheduleOf({ run: () => Promise.resolve(undefined) });
  await agenda.at([{ account: 'a', round: 'of a later build', time: 0 }]);
  await schedule.run();
  expect(agenda.times()).toEqual({});
});

it('surveys each account soon after its own start, and puts on the agenda what the survey finds', async () => {
  const { schedule, agenda } = scheduleOf({
    run: () => Promise.resolve(undefined),
    survey: (account) => Promise.resolve({ look: account === 'busy' ? 300 : undefined }),
  });
  schedule.came('busy', false);
  schedule.came('idle', false);
  await eventually('both are on the agenda', () => agenda.tasks.size === 2);
  // Not all at once.
  expect(agenda.times()).toEqual({ 'survey busy': 0, 'survey idle': 5 });
  await agenda.at([{ account: 'idle', round: 'survey', time: 0 }]);
  await schedule.run();
  const again = { everyMs: 60_000 };
  expect(agenda.times()).toEqual({ 'look busy': 300, 'survey busy': again, 'survey idle': again });
});

it('surveys an account at once that comes or changes later, and forgets one that goes', async () => {
  const { schedule, agenda, due } = scheduleOf({ run: () => Promise.resolve(undefined) });
  schedule.came('a', true);
  schedule.changed('b');
  await eventually('both are on the agenda', () => agenda.tasks.size === 2);
  expect(agenda.times()).toEqual({ 'survey a': 0, 'survey b': 0 });
  await due('a');
  schedule.went('a');
  expect(agenda.times()).toEqual({ 'survey b': 0 });
});

it('stops when what is under way has ended, and begins nothing after that', async () => {
  let end = (): void => undefined;
  let ran = 0;
  const { schedule, due } = scheduleOf({
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
  expect([ran, stopped]).toEqual([1, false]);
  end();
  await stop;
});

it('gives back at once what still waited for its place when it stopped', async () => {
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

it('relieves a full Redis of each account by a plain timer, for neither ticks nor agenda go on there', async () => {
  jest.useFakeTimers();
  const queue = { ...QUEUE, getJobScheduler: () => Promise.reject(new Error('OOM')) };
  const agenda = new MemoryAgenda();
  let isFull = false;
  const relieved: string[] = [];
  const relief = {
    isNeeded: () => Promise.resolve(isFull),
    run: (account: string) => Promise.resolve(void relieved.push(account)),
  };
  const role = { tickMs: 250, rounds: {}, survey: () => Promise.resolve({}), relief };
  const logger = createLogger('test', 'silent');
  const schedule = new RoundSchedule(queue as typeof QUEUE, agenda, role, logger);
  schedule.came('a', true);
  schedule.came('b', true);
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
