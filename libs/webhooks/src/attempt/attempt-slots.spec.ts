import { describe, expect, it } from '@jest/globals';
import { AttemptSlots } from './attempt-slots.js';

describe('the attempt slots of a process', () => {
  it('are limited in number, and a webhook takes at most half of the free slots, rounded up', async () => {
    const slots = new AttemptSlots(8);
    const taken: number[] = [];
    for (const webhook of ['a', 'b', 'c', 'd', 'e']) taken.push(await slots.acquire(webhook, 50, 0));
    expect(taken).toEqual([4, 2, 1, 1, 0]);
    slots.release('a', 3);
    expect(await slots.acquire('e', 1, 0)).toBe(1);
  });

  it('are never all taken by one webhook, however often it asks for more', async () => {
    const slots = new AttemptSlots(1_000);
    let hanging = 0;
    for (let n = 0; n < 100; n++) hanging += await slots.acquire('hangs', 50, 0);
    expect(hanging).toBe(500);
    expect(await slots.acquire('healthy', 50, 0)).toBe(50);
    slots.release('hangs', 500);
    expect(await slots.acquire('hangs', 50, 0)).toBe(50);
  });

  it('are not all taken by hanging webhooks: a healthy webhook still gets slots while 49 webhooks hang', async () => {
    const slots = new AttemptSlots(1_000);
    const hanging = new Map(Array.from({ length: 49 }, (_, n) => [`hangs ${n}`, 0]));
    for (let n = 0; n < 50; n++) {
      for (const [webhook, taken] of hanging) {
        if (taken > 0) slots.release(webhook, 1);
        hanging.set(webhook, Math.max(taken - 1, 0) + (await slots.acquire(webhook, 50, 0)));
      }
    }
    expect(await slots.acquire('healthy', 50, 0)).toBeGreaterThanOrEqual(5);
  });

  it('wake all waiting webhooks when one slot is released: one webhook gets the slot, the others get none', async () => {
    const slots = new AttemptSlots(1);
    expect(await slots.acquire('first', 1, 0)).toBe(1);
    const waiting = Array.from({ length: 30 }, (_, n) => slots.acquire(`waits ${n}`, 1, 10_000));
    slots.release('first', 1);
    const taken = await Promise.all(waiting);
    expect(taken.reduce((sum, n) => sum + n, 0)).toBe(1);
  });

  it('are refused at once to a webhook that already has a slot if no other slot is free', async () => {
    const slots = new AttemptSlots(1);
    expect(await slots.acquire('a', 1, 0)).toBe(1);
    expect(await slots.acquire('a', 1, 3_600_000)).toBe(0);
  });
});
