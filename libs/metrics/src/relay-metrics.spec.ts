import { beforeEach, describe, expect, it } from '@jest/globals';
import type { RelayStore, SendRecord, StateChange } from '#relay';
import { PromMetrics } from './prom-metrics.js';
import { RelayMetrics } from './relay-metrics.js';

const RECORD = { state: { status: 'sent', updatedAt: 0 } } as SendRecord;

let metrics: PromMetrics;
let tokens: string[];
let relay: RelayMetrics;
let observed: (result: SendRecord | undefined) => RelayStore;

beforeEach(() => {
  metrics = new PromMetrics('worker', 'test');
  tokens = [];
  relay = new RelayMetrics(metrics, { countTokenAtOnce: (kind) => void tokens.push(kind) });
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

it('a token of the request budget is counted for each send that is fenced, because the fence takes the token', async () => {
  const fence = {} as Parameters<RelayStore['fence']>[2];
  for (const result of [{ kind: 'unusual' }, { kind: 'changed' }, { kind: 'fenced', record: RECORD }])
    await relay
      .observeStore({ fence: () => Promise.resolve(result) } as unknown as RelayStore)
      .fence('a', RECORD, fence);
  expect(tokens).toEqual(['send']);
});
