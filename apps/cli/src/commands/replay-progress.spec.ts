import { describe, expect, it } from '@jest/globals';
import { followReplay } from './replay-progress.js';

/** Follows a replay of 10 deliveries with a read each second. The last number of pending deliveries repeats. */
async function follow(...pending: number[]): Promise<{ outcome: string; shown: number[]; seconds: number }> {
  let seconds = 0;
  const shown: number[] = [];
  const outcome = await followReplay(
    10,
    () => {
      if (seconds > 1_000) throw new Error('the replay is followed without an end');
      seconds += 1;
      return Promise.resolve({ pending: pending[Math.min(seconds, pending.length) - 1] ?? 0 });
    },
    (done) => shown.push(done),
    () => seconds * 1_000,
  );
  return { outcome, shown, seconds };
}

describe('a replay that the command line follows', () => {
  it('ends when no delivery is pending, and its displayed progress never decreases', async () => {
    expect(await follow(14, 10, 7, 8, 0)).toEqual({
      outcome: 'ended',
      shown: [0, 0, 3, 3, 10],
      seconds: 5,
    });
  });

  it('is no longer followed after two minutes without progress, for example because its webhook fails', async () => {
    expect(await follow(10)).toMatchObject({ outcome: 'stalled', seconds: 122 });
    expect(await follow(14, 12, 4)).toMatchObject({ outcome: 'stalled', seconds: 124 });
  });

  it('is followed for longer than two minutes while deliveries end', async () => {
    const slow = Array.from({ length: 1_000 }, (_, second) => 10 - Math.floor(second / 100));
    expect(await follow(...slow, 0)).toMatchObject({ outcome: 'ended', seconds: 1_001 });
  });
});
