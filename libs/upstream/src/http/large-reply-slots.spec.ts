import { describe, expect, it } from '@jest/globals';
import { LargeReplySlots } from './large-reply-slots.js';
import { TooManyLargeRepliesError } from '../upstream-error.js';

const PATIENT_MS = 60_000;

/**
 * Requests a slot for each owner. `inside`: the requests that have got a slot so far, in this order, each as its
 * owner and its index. `leave` releases the slot of the request with this index.
 */
function entering(
  replies: LargeReplySlots,
  owners: string[],
): { inside: string[]; leave: (n: number) => Promise<void> } {
  const inside: string[] = [];
  const leaves: (() => void)[] = [];
  owners.forEach((owner, n) => {
    void replies.acquire(owner, PATIENT_MS).then((leave) => {
      inside.push(`${owner}${n}`);
      leaves[n] = leave;
    });
  });
  const leave = async (n: number): Promise<void> => {
    leaves[n]?.();
    await new Promise(setImmediate);
  };
  return { inside, leave };
}

describe('large replies', () => {
  it('share a limited number of slots, which they get in the order of arrival', async () => {
    const { inside, leave } = entering(new LargeReplySlots(4), ['a', 'b', 'c', 'd', 'e', 'f']);
    await new Promise(setImmediate);
    expect(inside).toEqual(['a0', 'b1', 'c2', 'd3']);
    await leave(1);
    expect(inside.slice(4)).toEqual(['e4']);
    // A slot is released only once.
    await leave(1);
    expect(inside.slice(4)).toEqual(['e4']);
    await leave(0);
    expect(inside.slice(4)).toEqual(['e4', 'f5']);
    for (const n of [2, 3, 4, 5]) await leave(n);
  });

  it('of one upstream address get at most half of the slots, so that other addresses are not blocked', async () => {
    const { inside, leave } = entering(new LargeReplySlots(4), ['a', 'a', 'a', 'a', 'b', 'c']);
    await new Promise(setImmediate);
    expect(inside).toEqual(['a0', 'a1', 'b4', 'c5']);
    await leave(4);
    expect(inside).toHaveLength(4);
    await leave(0);
    expect(inside.slice(4)).toEqual(['a2']);
    for (const n of [1, 2, 3, 5]) await leave(n);
  });

  it('stop waiting for a slot after the timeout', async () => {
    const replies = new LargeReplySlots(1);
    const leave = await replies.acquire('a', PATIENT_MS);
    await expect(replies.acquire('b', 1)).rejects.toThrow(TooManyLargeRepliesError);
    leave();
    (await replies.acquire('b', 1))();
  });
});
