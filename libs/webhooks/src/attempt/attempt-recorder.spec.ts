import { describe, expect, it } from '@jest/globals';
import type { FinishedAttempt, SettlementResult } from '../delivery/delivery-store.js';
import { AttemptRecorder } from './attempt-recorder.js';

const RECORDED = { isRecorded: true, hasMore: false, failingMs: 0 };

function finished(id: string): FinishedAttempt {
  return {
    delivery: {
      ...{ id, claimId: 'c', endpointId: 'e', url: 'https://e', eventId: 'v' },
      ...{ defaultConcurrency: 20, attempts: 0, body: '{}' },
    },
    attempt: { at: '', durationMs: 1, statusCode: 204, reply: '', error: null },
    settlement: { status: 'succeeded' },
    throttling: { slowsDown: false, pauseMs: 0 },
  };
}

/** Returns a recorder, and the ids of the deliveries of each batch that it wrote. */
function recorder(fail: (ids: readonly string[]) => boolean = () => false): {
  recorder: AttemptRecorder;
  batches: string[][];
} {
  const batches: string[][] = [];
  const settleAll = (_: string, attempts: readonly FinishedAttempt[]): Promise<SettlementResult[]> => {
    const ids = attempts.map(({ delivery }) => delivery.id);
    batches.push(ids);
    return fail(ids) ? Promise.reject(new Error('refused')) : Promise.resolve(ids.map(() => RECORDED));
  };
  return { recorder: new AttemptRecorder({ settleAll }), batches };
}

const soon = (): number => performance.now() + 5_000;

describe('the recorder of attempts', () => {
  it('uses one batch per account for all attempts that end in the same turn of the event loop', async () => {
    const { recorder: to, batches } = recorder();
    await Promise.all([
      ...['1', '2', '3'].map((id) => to.record('a', finished(id), soon())),
      to.record('b', finished('4'), soon()),
    ]);
    await to.record('a', finished('5'), soon());
    expect(batches).toEqual([['1', '2', '3'], ['4'], ['5']]);
  });

  it('records at most two hundred attempts in one batch', async () => {
    const { recorder: to, batches } = recorder();
    await Promise.all(Array.from({ length: 450 }, (_, n) => to.record('a', finished(String(n)), soon())));
    expect(batches.map(({ length }) => length)).toEqual([200, 200, 50]);
  });

  it('retries a failed batch', async () => {
    let failures = 1;
    const { recorder: to, batches } = recorder(() => failures-- > 0);
    expect(await to.record('a', finished('1'), soon())).toEqual(RECORDED);
    expect(batches).toEqual([['1'], ['1']]);
  });

  it('records all other attempts if the write of one attempt to Redis always fails; this write is retried until its deadline', async () => {
    const { recorder: to } = recorder((ids) => ids.includes('bad'));
    const until = performance.now() + 1_500;
    const bad = to.record('a', finished('bad'), until);
    const good = ['1', '2', '3'].map((id) => to.record('a', finished(id), until));
    expect(await Promise.all(good)).toEqual([RECORDED, RECORDED, RECORDED]);
    await expect(bad).rejects.toThrow('refused');
  });
});
