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

it('due times that could not be written to Redis are written once Redis is available again; later due times are written at once', async () => {
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
