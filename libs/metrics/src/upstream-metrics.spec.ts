import { beforeEach, describe, expect, it } from '@jest/globals';
import { type AdaptiveBudget, BudgetExhaustedError } from '#upstream';
import { PromMetrics } from './prom-metrics.js';
import { UpstreamMetrics } from './upstream-metrics.js';

let metrics: PromMetrics;
let budget: AdaptiveBudget;
/** Whether the budget has a token. */
let hasToken: boolean;

beforeEach(() => {
  metrics = new PromMetrics('worker', 'test');
  hasToken = true;
  const target = {
    acquire: () => (hasToken ? Promise.resolve(0) : Promise.reject(new BudgetExhaustedError(1))),
    tryAcquire: () => Promise.resolve({ waitMs: hasToken ? 0 : 1, requestedAt: 0 }),
  } as unknown as AdaptiveBudget;
  const counter = { add: () => undefined };
  budget = new UpstreamMetrics(metrics, counter).observeBudget(target);
});

async function tokens(): Promise<string[]> {
  const { text } = await metrics.expose();
  return text.split('\n').filter((line) => line.startsWith('tidings_budget_tokens_total{'));
}

describe('A token that replaces an expired one is not counted', () => {
  it('for a send', async () => {
    await budget.acquire('a', 1, 'send', 1_000, 0);
    await budget.acquire('a', 1, 'send', 1_000, 1);
    expect(await tokens()).toEqual(['tidings_budget_tokens_total{class="send"} 1']);
  });

  it('for a poll, even if the poll returned the expired token while it waited for the new one', async () => {
    await budget.tryAcquire('a', 1, 'poll', 0);
    hasToken = false;
    await budget.tryAcquire('a', 1, 'poll', 1);
    hasToken = true;
    await budget.tryAcquire('a', 1, 'poll', 0);
    expect(await tokens()).toEqual(['tidings_budget_tokens_total{class="poll"} 1']);
    await budget.tryAcquire('a', 1, 'poll', 0);
    expect(await tokens()).toEqual(['tidings_budget_tokens_total{class="poll"} 2']);
  });
});
