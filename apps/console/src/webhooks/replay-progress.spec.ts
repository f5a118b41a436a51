import { describe, expect, it } from '@jest/globals';
import { progressAfter, type ReplayProgress, startedProgress } from './replay-progress.js';

const START = 1_000_000;

/** Reads the number of pending deliveries once a second, and returns the last progress. */
function after(count: number, ...pending: number[]): ReplayProgress {
  return pending.reduce(
    (progress, each, i) => progressAfter(progress, each, START + 1_000 * (i + 1)),
    startedProgress(count, START),
  );
}

describe('the progress of a replay', () => {
  it('is the number of deliveries that are no longer pending; the replay has ended when no delivery is pending', () => {
    expect(after(10, 10, 7)).toMatchObject({ done: 3, total: 10, status: 'running' });
    expect(after(10, 10, 7, 0)).toMatchObject({ done: 10, total: 10, status: 'ended' });
  });

  it('also counts deliveries that were pending before the replay', () => {
    expect(after(10, 14, 4)).toMatchObject({ done: 10, total: 14, status: 'running' });
  });

  it('never decreases when deliveries of new events become pending', () => {
    expect(after(10, 10, 2, 6)).toMatchObject({ done: 8, total: 10, status: 'running' });
  });

  it('does not change after the replay has ended', () => {
    expect(after(2, 0, 5)).toMatchObject({ done: 2, total: 2, status: 'ended' });
  });

  it('is "stalled" after two minutes in which no delivery ends, and "running" again when the next delivery ends', () => {
    const stalled = progressAfter(after(10, 10, 8), 8, START + 200_000);
    expect(stalled.status).toBe('stalled');
    expect(progressAfter(stalled, 7, START + 201_000)).toMatchObject({ done: 3, status: 'running' });
  });
});
