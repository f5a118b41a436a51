import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { type Backlog, countsOfDelay, type MinuteCounts, minuteNumberAt, StatsRecorder } from '#metrics';
import { createLogger } from '#platform';
import { MemoryStatsStore } from '../../support/memory-stats-store.js';

const START = Date.parse('2026-11-25T10:00:00Z');

let now: number;
let store: MemoryStatsStore;
let backlog: Backlog;
let samples: number;
/** The error of the reads of the backlog, if they fail. */
let unreadable: Error | undefined;
let log: string[];
let recorder: StatsRecorder;

beforeEach(() => {
  jest.useFakeTimers();
  now = START;
  store = new MemoryStatsStore(() => now);
  backlog = { sends: 0, deliveries: 0 };
  samples = 0;
  unreadable = undefined;
  log = [];
  const readBacklog = (): Promise<Backlog> => {
    samples += 1;
    return unreadable === undefined ? Promise.resolve(backlog) : Promise.reject(unreadable);
  };
  const logger = createLogger('test', 'info', { write: (line: string) => log.push(line) });
  recorder = new StatsRecorder(store, { now: () => now }, readBacklog, logger);
});
afterEach(() => {
  jest.restoreAllMocks();
  jest.useRealTimers();
});

const kept = async (minute = minuteNumberAt(now)): Promise<Readonly<MinuteCounts> | undefined> =>
  (await store.read('a')).minutes.get(minute);

describe('The recorder of statistics', () => {
  it('runs a timer only while counts wait to be written', async () => {
    const timers = jest.spyOn(globalThis, 'setTimeout');
    await jest.advanceTimersByTimeAsync(60_000);
    expect(timers).toHaveBeenCalledTimes(0);
    recorder.add('a', { sendsCreated: 1 });
    recorder.add('b', { sendsCreated: 1 });
    await jest.advanceTimersByTimeAsync(60_000);
    expect(timers).toHaveBeenCalledTimes(1);
    expect(store.writes).toBe(2);
    recorder.add('a', { sendsCreated: 1 });
    expect(timers).toHaveBeenCalledTimes(2);
  });

  it('writes the counts of different minutes in one write, each count under its minute', async () => {
    now = START + 59_000;
    recorder.add('a', { sendsCreated: 1 });
    recorder.add('a', { sendsCreated: 2 });
    recorder.add('a', { eventsTotal: 1 }, START - 60_000);
    now = START + 61_000;
    recorder.add('a', { sendsCreated: 1 });
    recorder.add('a', countsOfDelay('detection', 300));
    recorder.add('a', countsOfDelay('detection', 100));
    recorder.add('a', countsOfDelay('detection', -5));
    expect(store.writes).toBe(0);
    await jest.advanceTimersByTimeAsync(5_000);
    expect(store.writes).toBe(1);
    expect(await kept(minuteNumberAt(START - 60_000))).toMatchObject({ eventsTotal: 1, sendsCreated: 0 });
    expect(await kept(minuteNumberAt(START))).toMatchObject({ sendsCreated: 3 });
    expect(await kept()).toMatchObject({
      ...{ sendsCreated: 1, detectionDelays: 3, detectionDelaySumMs: 400, detectionDelayMaxMs: 300 },
    });
  });

  it('measures the backlog of an account once a minute, when it writes the counts of that account', async () => {
    backlog = { sends: 4, deliveries: 7 };
    for (let i = 0; i < 3; i += 1) {
      recorder.add('a', { requestsUsed: 1 });
      await jest.advanceTimersByTimeAsync(5_000);
    }
    expect(samples).toBe(1);
    expect(await kept()).toMatchObject({ backlogSamples: 1, backlogSends: 4, backlogDeliveries: 7 });
    now += 60_000;
    recorder.add('a', { requestsUsed: 1 });
    await jest.advanceTimersByTimeAsync(5_000);
    expect(samples).toBe(2);
  });

  it('writes the counts without the backlog if it cannot be read, and logs only the first failure', async () => {
    unreadable = new Error('LOADING Redis is loading the dataset in memory');
    for (let i = 0; i < 3; i += 1) {
      recorder.add('a', { sendsCreated: 1 });
      await jest.advanceTimersByTimeAsync(5_000);
      expect(await kept()).toMatchObject({ sendsCreated: 1, backlogSamples: 0 });
      now += 60_000;
    }
    expect(samples).toBe(3);
    expect(log).toHaveLength(1);
  });

  it('drops counts that cannot be written, logs only the first failure, and continues to record', async () => {
    store.fault = new Error('OOM command not allowed');
    for (let i = 0; i < 3; i += 1) {
      recorder.add('a', { sendsCreated: 1 });
      await jest.advanceTimersByTimeAsync(5_000);
    }
    expect(log).toHaveLength(1);
    store.fault = undefined;
    recorder.add('a', { sendsCreated: 1 });
    await jest.advanceTimersByTimeAsync(5_000);
    expect((await kept())?.sendsCreated).toBe(1);
  });

  it('starts no other write while a write hangs, and meanwhile keeps at most one hour of counts per account', async () => {
    let release = (): void => undefined;
    const hanging = new Promise<void>((resolve) => (release = resolve));
    const add = jest.spyOn(store, 'add').mockReturnValueOnce(hanging);
    recorder.add('a', { sendsCreated: 1 });
    await jest.advanceTimersByTimeAsync(5_000);
    for (let minute = 0; minute < 500; minute += 1) {
      now += 60_000;
      recorder.add('a', { sendsCreated: 1 });
      await jest.advanceTimersByTimeAsync(60_000);
    }
    expect(add).toHaveBeenCalledTimes(1);
    release();
    await jest.advanceTimersByTimeAsync(5_000);
    expect(add).toHaveBeenCalledTimes(2);
    expect(add.mock.calls[1]?.[1].size).toBeLessThanOrEqual(62);
  });

  it('keeps the counts of the latest hour of an account, in whatever order the counts arrive', async () => {
    const add = jest.spyOn(store, 'add');
    for (let minutes = 0; minutes < 100; minutes += 1)
      recorder.add('a', { eventsTotal: 1 }, START - minutes * 60_000);
    await jest.advanceTimersByTimeAsync(5_000);
    const written = [...(add.mock.calls[0]?.[1].keys() ?? [])];
    expect(Math.max(...written)).toBe(minuteNumberAt(START));
    expect(Math.min(...written)).toBe(minuteNumberAt(START - 60 * 60_000));
  });

  it('keeps counts of at most 10,000 accounts between two writes', async () => {
    for (let i = 0; i < 10_500; i += 1) recorder.add(`account-${i}`, { sendsCreated: 1 });
    await jest.advanceTimersByTimeAsync(5_000);
    expect(store.writes).toBe(10_000);
  });

  it('writes the remaining counts when it stops, and ignores later counts', async () => {
    recorder.add('a', { sendsCreated: 1 });
    await recorder.stop();
    expect((await kept())?.sendsCreated).toBe(1);
    const timers = jest.spyOn(globalThis, 'setTimeout');
    recorder.add('a', { sendsCreated: 1 });
    expect(timers).toHaveBeenCalledTimes(0);
  });

  it('stops within a second even if the store does not answer', async () => {
    jest.spyOn(store, 'add').mockReturnValue(new Promise(() => undefined));
    recorder.add('a', { sendsCreated: 1 });
    const stopped = recorder.stop();
    await jest.advanceTimersByTimeAsync(1_000);
    await stopped;
  });
});
