import { describe, expect, it } from '@jest/globals';
import { progressAfter, type ReplayProgress, startedProgress } from './replay-progress.js';

const START = 1_000_000;

/** Looks at the webhook once a second, and returns the last progress. */
function after(count: number, ...pending: number[]): ReplayProgress {
  return pending.reduce(
    (progress, each, i) => progressAfter(progress, each, START + 1_000 * (i + 1)),
    startedProgress(count, START),
  );
}

describe('the progress of a replay', () => {
  it('is what is no longer pending, and ends with the last delivery', () => {
    expect(after(10, 10, 7)).toMatchObject({ done: 3, total: 10, status: 'running' });
    expect(after(10, 10, 7, 0)).toMatchObject({ done: 10, total: 10, status: 'ended' });
  });

  it('counts what was pending before the replay too', () => {
    expect(after(10, 14, 4)).toMatchObject({ done: 10, total: 14, status: 'running' });
  });

  it('never falls when new events come', () => {
    expect(after(10, 10, 2, 6)).toMatchObject({ done: 8, total: 10, status: 'running' });
  });

  it('stays at its end', () => {
    expect(after(2, 0, 5)).toMatchObject({ done: 2, total: 2, status: 'ended' });
  });

  it('stalls after two minutes without a delivery that ends, and runs on with the next one', () => {
    const stalled = progressAfter(after(10, 10, 8), 8, START + 200_000);
    expect(stalled.status).toBe('stalled');
    expect(progressAfter(stalled, 7, START + 201_000)).toMatchObject({ done: 3, status: 'running' });
  });
});
