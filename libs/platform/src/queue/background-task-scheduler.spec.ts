import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { BackgroundTaskScheduler } from './background-task-scheduler.js';
import type { AgendaTask } from './agenda.js';
import { createLogger } from '../log/logger.js';

let away: boolean;
let written: AgendaTask[];
let scheduler: BackgroundTaskScheduler;

beforeEach(() => {
  jest.useFakeTimers();
  away = false;
  written = [];
  const agenda = {
    schedule: (tasks: readonly AgendaTask[]): Promise<void> => {
      if (away) return Promise.reject(new Error('Redis is away'));
      written.push(...tasks);
      return Promise.resolve();
    },
  };
  scheduler = new BackgroundTaskScheduler(agenda, createLogger('test', 'silent'));
});

afterEach(() => {
  jest.useRealTimers();
});

it('after a write to Redis, further tasks wait up to 25 ms and are written together; a new task that is due now is written at once, with the waiting tasks', async () => {
  scheduler.announce('first', 'due', 1_000);
  await jest.advanceTimersByTimeAsync(0);
  expect(written).toHaveLength(1);
  for (let n = 0; n < 10; n += 1) scheduler.announce(`later-${n}`, 'due', 1_000);
  await jest.advanceTimersByTimeAsync(10);
  expect(written).toHaveLength(1);
  scheduler.announce('now', 'due', 0);
  await jest.advanceTimersByTimeAsync(0);
  expect(written).toHaveLength(12);
  scheduler.announce('last', 'due', 1_000);
  await jest.advanceTimersByTimeAsync(25);
  expect(written).toHaveLength(13);
});

it('tasks are kept while Redis is unavailable and written when Redis is available again; after that, a task that is due now is written at once', async () => {
  away = true;
  scheduler.announce('a', 'due', 500);
  await jest.advanceTimersByTimeAsync(1_200);
  scheduler.announce('b', 'due', 0);
  scheduler.announce('a', 'due', 100);
  expect(written).toEqual([]);
  away = false;
  await jest.advanceTimersByTimeAsync(1_000);
  expect(written).toEqual([
    { account: 'a', round: 'due', time: 100 },
    { account: 'b', round: 'due', time: 0 },
  ]);
  scheduler.announce('c', 'due', 0);
  await jest.advanceTimersByTimeAsync(0);
  expect(written.at(-1)).toMatchObject({ account: 'c' });
});
