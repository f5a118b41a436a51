import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { Revocations } from '#accounts';
import { createLogger } from '#platform';
import { RevocationWatch } from './revocation-watch.js';

const INTERVAL_MS = 250;

/** Revocations in memory, which count their reads. */
class FakeRevocations implements Revocations {
  readonly revoked: string[] = [];
  reads = 0;
  fault: Error | undefined;

  end(): Promise<string> {
    return this.fault === undefined
      ? Promise.resolve(String(this.revoked.length))
      : Promise.reject(this.fault);
  }

  after(position: string): Promise<{ ids: string[]; position: string }> {
    this.reads += 1;
    if (this.fault !== undefined) return Promise.reject(this.fault);
    const ids = this.revoked.slice(Number(position));
    return Promise.resolve({ ids, position: String(this.revoked.length) });
  }
}

let revocations: FakeRevocations;
let watch: RevocationWatch;

beforeEach(() => {
  jest.useFakeTimers();
  revocations = new FakeRevocations();
  watch = new RevocationWatch(revocations, createLogger('gateway', 'silent'));
});
afterEach(() => {
  jest.useRealTimers();
});

const passIntervals = (count: number): Promise<void> => jest.advanceTimersByTimeAsync(count * INTERVAL_MS);

describe('the watch for revocations', () => {
  it('notifies the listeners of a revoked id once, within one interval, and does not notify listeners of other ids', async () => {
    revocations.revoked.push('tok_1');
    const notified: string[] = [];
    const follow = (name: string, ...ids: string[]): Promise<() => void> =>
      watch.follow(ids, () => notified.push(name));
    await Promise.all([
      follow('a', 'tok_1', 'key_1'),
      follow('b', 'tok_2', 'key_1'),
      follow('c', 'tok_2', 'key_2'),
    ]);
    await passIntervals(2);
    expect(notified).toEqual([]);
    revocations.revoked.push('key_1', 'tok_3');
    await passIntervals(1);
    expect(notified).toEqual(['a', 'b']);
    revocations.revoked.push('tok_2');
    await passIntervals(3);
    expect(notified).toEqual(['a', 'b', 'b', 'c']);
  });

  it('reads the revocations once per interval for all waiting requests together, and not at all while no request waits', async () => {
    const stops: (() => void)[] = [];
    for (let i = 0; i < 500; i++) stops.push(await watch.follow([`tok_${i}`, 'key'], () => undefined));
    await passIntervals(8);
    expect(revocations.reads).toBe(8);
    for (const stop of stops) stop();
    await passIntervals(8);
    expect(revocations.reads).toBe(8);
    await watch.follow(['tok_1'], () => undefined);
    await passIntervals(2);
    expect(revocations.reads).toBe(10);
  });

  it('continues after an outage of Redis, and reports the ids that were revoked during the outage', async () => {
    let notified = 0;
    await watch.follow(['tok_1'], () => (notified += 1));
    revocations.fault = Object.assign(new Error('connect'), { code: 'ECONNREFUSED', syscall: 'connect' });
    revocations.revoked.push('tok_1');
    await passIntervals(4);
    await expect(watch.follow(['tok_2'], () => undefined)).resolves.toBeDefined();
    expect(notified).toBe(0);
    revocations.fault = undefined;
    await passIntervals(1);
    expect(notified).toBe(1);
  });

  it('throws an error and does not start if its start position in the list of revocations cannot be read', async () => {
    revocations.fault = new Error('connect');
    await expect(watch.follow(['tok_1'], () => undefined)).rejects.toThrow('connect');
    await passIntervals(4);
    expect(revocations.reads).toBe(0);
  });
});
