import { describe, expect, it } from '@jest/globals';
import type { ClaimedPoll } from '#feed';
import { createLogger } from '#platform';
import { eventually } from '../../../../test/support/eventually.js';
import { type RunningRead, RunningReads } from './running-reads.js';

const claimOf = (contactId: string): ClaimedPoll => ({
  kind: 'head',
  contactId,
  overdueMs: 0,
  consecutiveFailures: 0,
  lease: contactId,
  isUpstreamAvailable: true,
});

describe('the leases of running reads', () => {
  it('are renewed until the worker is about to store the result of the read, and not after that', async () => {
    const renewals: string[][] = [];
    const queue = {
      renew: (_: string, claims: readonly ClaimedPoll[]): Promise<ClaimedPoll[]> => {
        renewals.push(claims.map(({ contactId }) => contactId));
        return Promise.resolve([]);
      },
    };
    const running = new RunningReads(10, queue, createLogger('test', 'silent'), 1);
    const ends: ((value: unknown) => void)[] = [];
    const start = (contactId: string, read: RunningRead['read']): Promise<unknown> => {
      const one = { account: 'a', claim: claimOf(contactId), read, ending: new AbortController() };
      return running.start(one, () => new Promise((end) => ends.push(end)));
    };
    const ending = { isLeaseRenewed: true };
    const reads = [start('ending', ending), start('reading', { isLeaseRenewed: true })];
    await eventually('both are renewed', () => renewals.some((ids) => ids.length === 2));
    ending.isLeaseRenewed = false;
    const before = renewals.length;
    await eventually('one is renewed', () => renewals.length > before);
    expect(renewals.slice(before).flat()).not.toContain('ending');
    for (const end of ends) end(undefined);
    await Promise.all(reads);
    await running.ended();
    expect(running.freeSlots(0)).toBe(5);
  });
});

describe('the slots of reads', () => {
  it('are taken by claims until these are answered or fail, so that concurrent claims start no more reads than there are slots', async () => {
    const running = new RunningReads(
      10,
      { renew: () => Promise.resolve([]) },
      createLogger('test', 'silent'),
    );
    const ends: ((result: string | Promise<never>) => void)[] = [];
    const counts: number[] = [];
    const claim = (ofAccount: number): Promise<string | undefined> =>
      running.whileClaiming(ofAccount, 4, (count) => {
        counts.push(count);
        return new Promise((end) => ends.push(end));
      });
    const claims = [claim(0), claim(0)];
    expect(counts).toEqual([4, 3]);
    expect(await claim(3)).toBeUndefined();
    expect(counts).toHaveLength(2);
    ends[0]?.('claimed');
    expect(await claims[0]).toBe('claimed');
    expect(running.freeSlots(0)).toBe(4);
    ends[1]?.(Promise.reject(new Error('Redis is away')));
    await expect(claims[1]).rejects.toThrow('Redis is away');
    expect(running.freeSlots(0)).toBe(5);
  });
});
