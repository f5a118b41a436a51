import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { AccountSlots } from './account-slots.js';

/** Starts jobs that end only when the test ends them. */
class ControlledJobs {
  readonly begun: string[] = [];
  private readonly ends = new Map<string, () => void>();

  constructor(readonly slots: AccountSlots) {}

  offer(account: string, subject: string): boolean {
    return this.slots.offer(account, subject, () => {
      this.begun.push(`${account} ${subject}`);
      return new Promise((resolve) => this.ends.set(`${account} ${subject}`, resolve));
    });
  }

  async end(job: string): Promise<void> {
    this.ends.get(job)?.();
    this.ends.delete(job);
    await new Promise(setImmediate);
  }

  runningOf(account: string): number {
    return [...this.ends.keys()].filter((job) => job.startsWith(`${account} `)).length;
  }
}

const jobsWith = (slots: number, maxPerAccount: number, maxWaiting = 100): ControlledJobs =>
  new ControlledJobs(new AccountSlots({ slots, maxPerAccount, maxWaiting }));

describe('the concurrency slots of a worker', () => {
  it('are limited per account: further jobs of the account wait, and start in order when running jobs of the account end', async () => {
    const all = jobsWith(10, 2);
    for (const subject of ['1', '2', '3', '4']) all.offer('a', subject);
    all.offer('b', '1');
    expect(all.begun).toEqual(['a 1', 'a 2', 'b 1']);
    await all.end('a 2');
    await all.end('a 1');
    expect(all.begun).toEqual(['a 1', 'a 2', 'b 1', 'a 3', 'a 4']);
  });

  it('always leave room for a job of one more account, even if the jobs of 60 other accounts never end', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 60 }), fc.integer({ min: 1, max: 64 }), (hogs, perAccount) => {
        const all = jobsWith(64, perAccount);
        for (let round = 0; round < 64; round += 1)
          for (let hog = 0; hog < hogs; hog += 1) all.offer(`hog${hog}`, String(round));
        all.offer('late', '1');
        expect(all.runningOf('late')).toBe(1);
      }),
      { numRuns: 50 },
    );
  });

  it('that become free are given to the waiting account with the fewest running jobs', async () => {
    const all = jobsWith(4, 4);
    for (const subject of ['1', '2', '3']) all.offer('a', subject);
    for (const account of ['b', 'c', 'd']) all.offer(account, '1');
    expect(all.begun).toEqual(['a 1', 'a 2', 'b 1', 'c 1']);
    await all.end('c 1');
    expect(all.begun.slice(4)).toEqual(['d 1']);
  });

  it('are not filled by duplicates: a job that is requested several times while it runs starts only once more', async () => {
    const all = jobsWith(10, 1);
    all.offer('a', '1');
    for (let i = 0; i < 5; i += 1) all.offer('a', '1');
    await all.end('a 1');
    await all.end('a 1');
    expect(all.begun).toEqual(['a 1', 'a 1']);
  });

  it('reject a job if too many jobs of the same account are waiting, and still accept jobs of other accounts', () => {
    const all = jobsWith(10, 1, 2);
    expect(['1', '2', '3', '4'].map((subject) => all.offer('a', subject))).toEqual([true, true, true, false]);
    expect(all.offer('b', '1')).toBe(true);
  });

  it('start no job after they are closed, and the call that closes them returns the jobs that still wait', async () => {
    const all = jobsWith(10, 1);
    for (const subject of ['1', '2', '3']) all.offer('a', subject);
    expect(all.slots.close()).toEqual([
      { account: 'a', subject: '2' },
      { account: 'a', subject: '3' },
    ]);
    expect(all.offer('a', '4')).toBe(false);
    const ended = all.slots.ended();
    await all.end('a 1');
    await ended;
    expect(all.begun).toEqual(['a 1']);
  });
});
