import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { AccountSlots } from './account-slots.js';

/** Works that end when they are told to. */
class Works {
  readonly begun: string[] = [];
  private readonly ends = new Map<string, () => void>();

  constructor(readonly slots: AccountSlots) {}

  offer(account: string, about: string): boolean {
    return this.slots.offer(account, about, () => {
      this.begun.push(`${account} ${about}`);
      return new Promise((resolve) => this.ends.set(`${account} ${about}`, resolve));
    });
  }

  async end(work: string): Promise<void> {
    this.ends.get(work)?.();
    this.ends.delete(work);
    await new Promise(setImmediate);
  }

  running(account: string): number {
    return [...this.ends.keys()].filter((work) => work.startsWith(`${account} `)).length;
  }
}

const works = (slots: number, perAccount: number, longestLine = 100): Works =>
  new Works(new AccountSlots({ slots, perAccount, longestLine }));

describe('the slots of a worker', () => {
  it('are not all to be had for one account, which goes on in order as its own come free', async () => {
    const all = works(10, 2);
    for (const about of ['1', '2', '3', '4']) all.offer('a', about);
    all.offer('b', '1');
    expect(all.begun).toEqual(['a 1', 'a 2', 'b 1']);
    await all.end('a 2');
    await all.end('a 1');
    expect(all.begun).toEqual(['a 1', 'a 2', 'b 1', 'a 3', 'a 4']);
  });

  it('are left for another account, however many accounts hang', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 60 }), fc.integer({ min: 1, max: 64 }), (hogs, perAccount) => {
        const all = works(64, perAccount);
        for (let round = 0; round < 64; round += 1)
          for (let hog = 0; hog < hogs; hog += 1) all.offer(`hog${hog}`, String(round));
        all.offer('late', '1');
        expect(all.running('late')).toBe(1);
      }),
      { numRuns: 50 },
    );
  });

  it('that come free go to those who have the fewest first', async () => {
    const all = works(4, 4);
    for (const about of ['1', '2', '3']) all.offer('a', about);
    for (const account of ['b', 'c', 'd']) all.offer(account, '1');
    expect(all.begun).toEqual(['a 1', 'a 2', 'b 1', 'c 1']);
    await all.end('c 1');
    expect(all.begun.slice(4)).toEqual(['d 1']);
  });

  it('have one place in the line for what is the same, and another one for what runs already', async () => {
    const all = works(10, 1);
    all.offer('a', '1');
    for (let i = 0; i < 5; i += 1) all.offer('a', '1');
    await all.end('a 1');
    await all.end('a 1');
    expect(all.begun).toEqual(['a 1', 'a 1']);
  });

  it('have a line of bounded length; what comes beyond is dropped', () => {
    const all = works(10, 1, 2);
    expect(['1', '2', '3', '4'].map((about) => all.offer('a', about))).toEqual([true, true, true, false]);
    expect(all.offer('b', '1')).toBe(true);
  });

  it('that are closed begin nothing, and say what waited', async () => {
    const all = works(10, 1);
    for (const about of ['1', '2', '3']) all.offer('a', about);
    expect(all.slots.close()).toEqual([
      { account: 'a', about: '2' },
      { account: 'a', about: '3' },
    ]);
    expect(all.offer('a', '4')).toBe(false);
    const ended = all.slots.ended();
    await all.end('a 1');
    await ended;
    expect(all.begun).toEqual(['a 1']);
  });
});
