import { describe, expect, it } from '@jest/globals';
import type { EventRetention } from '#events';
import type { DeliveryRetention } from '#webhooks';
import { dispatchRounds } from './dispatch-rounds.js';

const ACCOUNT = 'default';

/** Runs a round of an account with this number of batches of deliveries and of events to remove. */
function run(round: string, batches: number): Promise<unknown> {
  let left = batches;
  const trim = (): Promise<number> => Promise.resolve(left-- > 0 ? 1_000 : 0);
  const rounds = dispatchRounds({
    runner: { reconcile: () => Promise.resolve() },
    deliveries: { trim },
    log: { trim },
    deliverySurvey: { read: () => Promise.resolve({ trimInMs: 0 }) },
    logSurvey: { trimInMs: () => Promise.resolve(0) },
    retention: { deliveries: {} as DeliveryRetention, events: {} as EventRetention },
    isFull: () => Promise.resolve(false),
  });
  return rounds.rounds[round]?.run(ACCOUNT) ?? Promise.reject(new Error(`there is no round ${round}`));
}

describe.each(['trim-deliveries', 'trim-events'])('a retention round (%s)', (round) => {
  it('is due again after half a minute if nothing is left to remove', async () => {
    expect(await run(round, 3)).toBe(30_000);
  });

  it('is due again at once if data is left to remove, so that retention keeps up with new data', async () => {
    expect(await run(round, 1_000)).toBeLessThan(1_000);
  });
});
