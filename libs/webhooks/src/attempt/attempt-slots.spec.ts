import { describe, expect, it } from '@jest/globals';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { AttemptSlots } from './attempt-slots.js';

describe('the attempt slots of a process', () => {
  it('are limited in number, and a webhook takes at most half of the free slots, rounded up', async () => {
    const slots = new AttemptSlots(8);
    const taken: number[] = [];
    for (const webhook of ['a', 'b', 'c', 'd']) taken.push(await slots.acquire(webhook, 50));
    expect(taken).toEqual([4, 2, 1, 1]);
    expect(slots.isFull).toBe(true);
    slots.release('a', 3);
    expect(await slots.acquire('e', 1)).toBe(1);
  });

  it('are never all taken by one webhook, however often it asks for more', async () => {
    const slots = new AttemptSlots(1_000);
    let hanging = 0;
    for (let n = 0; n < 100; n++) hanging += await slots.acquire('hangs', 50);
    expect(hanging).toBe(500);
    expect(slots.hasSlotFor('hangs')).toBe(false);
    expect(await slots.acquire('healthy', 50)).toBe(50);
    slots.release('hangs', 500);
    expect(slots.hasSlotFor('hangs')).toBe(true);
    expect(await slots.acquire('hangs', 50)).toBe(50);
  });

  it('are not all taken by hanging webhooks: a healthy webhook still gets slots while 49 webhooks hang', async () => {
    const slots = new AttemptSlots(1_000);
    const hanging = new Map(Array.from({ length: 49 }, (_, n) => [`hangs ${n}`, 0]));
    const waiting = new Set<string>();
    const ask = async (webhook: string): Promise<void> => {
      waiting.add(webhook);
      const count = await slots.acquire(webhook, 50);
      waiting.delete(webhook);
      hanging.set(webhook, (hanging.get(webhook) ?? 0) + count);
    };
    const asked: Promise<void>[] = [];
    for (let n = 0; n < 50; n++) {
      for (const [webhook, taken] of hanging) {
        if (taken > 0) slots.release(webhook, 1);
        hanging.set(webhook, Math.max(taken - 1, 0));
        if (!waiting.has(webhook)) asked.push(ask(webhook));
        await nextTurn();
      }
    }
    expect(waiting.size).toBe(0);
    await Promise.all(asked);
    expect(await slots.acquire('healthy', 50)).toBeGreaterThanOrEqual(5);
  });

  it('go to the waiting webhooks in the order in which they began to wait, in equal parts', async () => {
    const slots = new AttemptSlots(20);
    const first: number[] = [];
    for (let n = 0; n < 5; n++) first.push(await slots.acquire(`first ${n}`, 50));
    expect(first).toEqual([10, 5, 3, 1, 1]);
    const served: [string, number][] = [];
    const waiting = ['a', 'b', 'c', 'd'].map(async (webhook) => {
      served.push([webhook, await slots.acquire(webhook, 50)]);
    });
    slots.release('first 4', 1);
    await nextTurn();
    expect(served).toEqual([['a', 1]]);
    slots.release('first 0', 10);
    await Promise.all(waiting);
    expect(served.slice(1)).toEqual([
      ['b', 3],
      ['c', 3],
      ['d', 2],
    ]);
    expect(slots.isFull).toBe(false);
  });

  it('are given to no webhook after the process begins to shut down: webhooks that wait for a slot stop waiting', async () => {
    const slots = new AttemptSlots(1);
    expect(await slots.acquire('a', 1)).toBe(1);
    const waiting = slots.acquire('b', 1);
    slots.close();
    expect(await waiting).toBe(0);
    expect(await slots.acquire('c', 1)).toBe(0);
  });

  it('are refused at once to a webhook that already has a slot if no other slot is free', async () => {
    const slots = new AttemptSlots(1);
    expect(await slots.acquire('a', 1)).toBe(1);
    expect(await slots.acquire('a', 1)).toBe(0);
  });
});
