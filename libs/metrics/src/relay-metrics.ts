import { observeMethodCalls } from '#platform';
import type { RelayStore, StateChange } from '#relay';
import type { Counter, PromMetrics } from './prom-metrics.js';
import type { UpstreamMetrics } from './upstream-metrics.js';

/** The transitions of a send that are named after the outcome of its POST to upstream. */
const ATTEMPTS: ReadonlySet<string> = new Set(['accepted', 'refused', 'not_taken', 'ambiguous']);

/**
 * Metrics of the POSTs of sends: the outcomes, and the tokens that the fences before the POSTs take from the budget.
 */
export class RelayMetrics {
  private readonly attempts: Counter<'outcome'>;

  constructor(
    metrics: PromMetrics,
    private readonly upstream: Pick<UpstreamMetrics, 'countTokenAtOnce'>,
  ) {
    this.attempts = metrics.counter(
      'tidings_relay_attempts_total',
      'Attempts to hand a send to the messaging service. `ambiguous`: the service may have taken the send.',
      ['outcome'],
    );
  }

  /** Wraps the store in an object that counts the recorded attempts, and the tokens that the fences take. */
  observeStore<T extends RelayStore>(store: T): T {
    return observeMethodCalls<RelayStore>(store, {
      apply: ({ parameters: [, , change], outcome }) => {
        if (!('result' in outcome) || outcome.result === undefined) return;
        const attempt = outcomeOfAttempt(change);
        if (attempt !== undefined) this.attempts.labels(attempt).inc();
      },
      fence: ({ outcome }) => {
        if ('result' in outcome && outcome.result.kind === 'fenced') this.upstream.countTokenAtOnce('send');
      },
    }) as T;
  }
}

/** Returns the outcome of the POST that the change records, or undefined if the change records no outcome. */
function outcomeOfAttempt({ transition, state }: StateChange): string | undefined {
  // The send changed during the POST: for example, a poll found its message first.
  if (transition === 'attempt_recorded') return state.attempts.at(-1)?.outcome;
  return ATTEMPTS.has(transition) ? transition : undefined;
}
