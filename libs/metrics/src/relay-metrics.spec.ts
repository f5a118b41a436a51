import { beforeEach, describe, expect, it } from '@jest/globals';
import type { RelayStore, SendRecord, StateChange } from '#relay';
import { PromMetrics } from './prom-metrics.js';
import { RelayMetrics } from './relay-metrics.js';

const RECORD = { state: { status: 'sent', updatedAt: 0 } } as SendRecord;

let metrics: PromMetrics;
let observed: (result: SendRecord | undefined) => RelayStore;

beforeEach(() => {
  metrics = new PromMetrics('worker', 'test');
  const relay = new RelayMetrics(metrics);
  observed = (result) =>
    relay.observeStore({ apply: () => Promise.resolve(result) } as unknown as RelayStore);
});

/** Returns the samples of a metric. */
async function samplesOf(name: string): Promise<string[]> {
  const { text } = await metrics.expose();
  return text.split('\n').filter((line) => line.startsWith(`${name}{`));
}

describe('An attempt that ends after a poll found its message', () => {
  const attempt = (outcome: string): object => ({ at: '2026-11-27T00:00:00.000Z', outcome });
  const attempts = [attempt('not_taken'), attempt('accepted')];
  const change = { transition: 'attempt_recorded', state: { attempts, refusals: 0 } } as StateChange;

  it('is counted with its outcome', async () => {
    await observed(RECORD).apply('a', RECORD, change);
    expect(await samplesOf('tidings_relay_attempts_total')).toEqual([
      'tidings_relay_attempts_total{outcome="accepted"} 1',
    ]);
  });

  it('is not counted if the store rejects the change', async () => {
    await observed(undefined).apply('a', RECORD, change);
    expect(await samplesOf('tidings_relay_attempts_total')).toEqual([]);
  });
});
