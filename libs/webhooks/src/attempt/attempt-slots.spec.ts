import { describe, expect, it } from '@jest/globals';
import { AttemptSlots } from './attempt-slots.js';

describe('the attempt slots of a process', () => {
  it('are limited in number, and one request for slots gets at most half of the free slots, rounded up', async () => {
    const slots = new AttemptSlots(8);
    const taken: number[] = [];
    for (let i = 0; i < 5; i++) taken.push(await slots.acquire(50, 0));
    expect(taken).toEqual([4, 2, 1, 1, 0]);
    slots.release(3);
    expect(await slots.acquire(1, 0)).toBe(1);
  });

  it('end all waits when one slot is released: one waiting request gets the slot, the others get none', async () => {
    const slots = new AttemptSlots(1);
    expect(await slots.acquire(1, 0)).toBe(1);
    const waiting = Array.from({ length: 30 }, () => slots.acquire(1, 10_000));
    slots.release(1);
    const taken = await Promise.all(waiting);
    expect(taken.reduce((sum, n) => sum + n, 0)).toBe(1);
  });
});
