import { describe, expect, it } from '@jest/globals';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { AttemptSlots } from './attempt-slots.js';

/** A webhook whose attempts hang until the test ends them. */
class Webhook {
  /** How many attempts are running. */
  running = 0;
  /** How often the webhook was told to ask for slots again. */
  retries = 0;
  private readonly ends: ((needsMore: boolean) => void)[] = [];

  constructor(
    private readonly slots: AttemptSlots,
    private readonly name: string,
  ) {}

  /** Asks for slots. Returns how many it got, after `claim` has started attempts, by default one in each slot. */
  async take(claim: (count: number) => number | Promise<number> = (count) => count): Promise<number> {
    let got = 0;
    const start = async (count: number): Promise<{ attempts: Promise<boolean>[] }> => {
      got = count;
      const length = await claim(count);
      this.running += length;
      const attempts = Array.from({ length }, () => new Promise<boolean>((end) => this.ends.push(end)));
      return { attempts };
    };
    const started = await this.slots.use(this.name, start, () => this.retries++);
    expect(started === undefined).toBe(got === 0);
    return got;
  }

  /** Ends attempts, as far as any are running. */
  async end(count: number, needsMore = false): Promise<void> {
    const ends = this.ends.splice(0, count);
    this.running -= ends.length;
    for (const end of ends) end(needsMore);
    await nextTurn();
  }
}

function webhooksOf(slots: AttemptSlots, ...names: string[]): Webhook[] {
  return names.map((name) => new Webhook(slots, name));
}

describe('the attempt slots of a process', () => {
  it('are limited in number, and a webhook takes at most half of the free slots, rounded up', async () => {
    const slots = new AttemptSlots(8);
    const webhooks = webhooksOf(slots, 'a', 'b', 'c', 'd');
    const taken: number[] = [];
    for (const webhook of webhooks) taken.push(await webhook.take());
    expect(taken).toEqual([4, 2, 1, 1]);
    expect(slots.isFull).toBe(true);
    await webhooks[0]?.end(3);
    expect(slots.isFull).toBe(false);
    expect(await new Webhook(slots, 'e').take()).toBe(2);
  });

  it('are never all taken by one webhook, however often it asks for more', async () => {
    const slots = new AttemptSlots(1_000);
    const hangs = new Webhook(slots, 'hangs');
    for (let n = 0; n < 100; n++) expect(await hangs.take()).toBeLessThanOrEqual(50);
    expect(hangs.running).toBe(500);
    expect(hangs.retries).toBe(0);
    expect(await new Webhook(slots, 'healthy').take()).toBe(50);
    await hangs.end(500);
    expect(hangs.retries).toBe(1);
    expect(await hangs.take()).toBe(50);
  });

  it('are not all taken by hanging webhooks: a healthy webhook still gets slots while 49 webhooks hang', async () => {
    const slots = new AttemptSlots(1_000);
    const hanging = webhooksOf(slots, ...Array.from({ length: 49 }, (_, n) => `hangs ${n}`));
    const waiting = new Set<Webhook>();
    const ask = async (webhook: Webhook): Promise<void> => {
      waiting.add(webhook);
      await webhook.take();
      waiting.delete(webhook);
    };
    const asked: Promise<void>[] = [];
    for (let n = 0; n < 50; n++) {
      for (const webhook of hanging) {
        await webhook.end(1);
        if (!waiting.has(webhook)) asked.push(ask(webhook));
        await nextTurn();
      }
    }
    expect(waiting.size).toBe(0);
    await Promise.all(asked);
    expect(await new Webhook(slots, 'healthy').take()).toBeGreaterThanOrEqual(5);
  });

  it('go to the waiting webhooks in the order in which they began to wait, in equal parts', async () => {
    const slots = new AttemptSlots(20);
    let endClaim: (attempts: number) => void = () => undefined;
    const first = new Webhook(slots, 'first').take(() => new Promise((resolve) => (endClaim = resolve)));
    const others = webhooksOf(slots, 'second', 'third', 'fourth', 'fifth');
    const taken: number[] = [];
    for (const webhook of others) taken.push(await webhook.take());
    expect(taken).toEqual([5, 3, 1, 1]);
    const served: [string, number][] = [];
    const waiting = ['a', 'b', 'c', 'd'].map(async (name) => {
      served.push([name, await new Webhook(slots, name).take()]);
    });
    await others[3]?.end(1);
    expect(served).toEqual([['a', 1]]);
    endClaim(0);
    await Promise.all(waiting);
    expect(await first).toBe(10);
    expect(served.slice(1)).toEqual([
      ['b', 3],
      ['c', 3],
      ['d', 2],
    ]);
    expect(slots.isFull).toBe(false);
  });

  it('are free again at once if a claim starts fewer attempts, or fails', async () => {
    const slots = new AttemptSlots(2);
    const [a, b, c] = webhooksOf(slots, 'a', 'b', 'c');
    expect([await a?.take(), await b?.take(() => 0)]).toEqual([1, 1]);
    expect(slots.isFull).toBe(false);
    await expect(c?.take(() => Promise.reject(new Error('no reply')))).rejects.toThrow('no reply');
    expect(slots.isFull).toBe(false);
    expect(await b?.take()).toBe(1);
    expect(slots.isFull).toBe(true);
  });

  it('are given to no webhook after the process begins to shut down: webhooks that wait for a slot stop waiting', async () => {
    const slots = new AttemptSlots(1);
    const [a, b, c] = webhooksOf(slots, 'a', 'b', 'c');
    expect(await a?.take()).toBe(1);
    const waiting = b?.take();
    slots.close();
    expect(await waiting).toBe(0);
    expect(await c?.take()).toBe(0);
  });

  it('are refused at once to a webhook that already has a slot if no other slot is free', async () => {
    const slots = new AttemptSlots(1);
    const a = new Webhook(slots, 'a');
    expect(await a.take()).toBe(1);
    expect(await a.take()).toBe(0);
  });

  it('that become free are offered once to a webhook that was refused, after the webhooks that wait for their first slot', async () => {
    const slots = new AttemptSlots(3);
    const [refused, b, c, waits] = webhooksOf(slots, 'refused', 'b', 'c', 'waits');
    expect([await refused?.take(() => 1), await b?.take(), await refused?.take()]).toEqual([2, 1, 0]);
    expect(await c?.take()).toBe(1);
    const waiting = waits?.take();
    await b?.end(1);
    expect(await waiting).toBe(1);
    expect(refused?.retries).toBe(0);
    await waits?.end(1);
    expect(refused?.retries).toBe(0);
    await refused?.end(1);
    expect(refused?.retries).toBe(1);
    await c?.end(1);
    expect(refused?.retries).toBe(1);
  });

  it('are free before the webhook asks for more after an attempt', async () => {
    const slots = new AttemptSlots(1);
    const asked: boolean[] = [];
    const attempts = [Promise.resolve(true), Promise.resolve(false)];
    for (const attempt of attempts) {
      const start = (): Promise<{ attempts: Promise<boolean>[] }> => Promise.resolve({ attempts: [attempt] });
      await slots.use('a', start, () => asked.push(slots.isFull));
      await nextTurn();
    }
    expect(asked).toEqual([false]);
  });
});
