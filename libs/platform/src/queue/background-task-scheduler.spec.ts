import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { BackgroundTaskScheduler } from './background-task-scheduler.js';
import type { AgendaTask } from './agenda.js';
import { createLogger } from '../log/logger.js';

let away: boolean;
let written: AgendaTask[];
let hints: BackgroundTaskScheduler;

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
  hints = new BackgroundTaskScheduler(agenda, createLogger('test', 'silent'));
});

afterEach(() => {
  jest.useRealTimers();
});

it('after a write to Redis, further tasks wait up to 25 ms and are written together; a task that is due now ends the wait', async () => {
  hints.announce('first', 'due', 1_000);
  await jest.advanceTimersByTimeAsync(0);
  expect(written).toHaveLength(1);
  for (let n = 0; n < 10; n += 1) hints.announce(`later-${n}`, 'due', 1_000);
  await jest.advanceTimersByTimeAsync(10);
  expect(written).toHaveLength(1);
  hints.announce('now', 'due', 0);
  await jest.advanceTimersByTimeAsync(0);
  expect(written).toHaveLength(12);
  hints.announce('last', 'due', 1_000);
  await jest.advanceTimersByTimeAsync(25);
  expect(written).toHaveLength(13);
});

it('tasks are kept while Redis is unavailable and written when Redis is available again; after that, a task that is due now is written at once', async () => {
  away = true;
  hints.announce('a', 'due', 500);
  await jest.advanceTimersByTimeAsync(1_200);
  hints.announce('b', 'due', 0);
  hints.announce('a', 'due', 100);
  expect(written).toEqual([]);
  away = false;
  await jest.advanceTimersByTimeAsync(1_000);
  expect(written).toEqual([
    { account: 'a', round: 'due', time: 100 },
    { account: 'b', round: 'due', time: 0 },
  ]);
  hints.announce('c', 'due', 0);
  await jest.advanceTimersByTimeAsync(0);
  expect(written.at(-1)).toMatchObject({ account: 'c' });
});
