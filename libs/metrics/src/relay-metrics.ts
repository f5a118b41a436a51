import { observeMethodCalls } from '#platform';
import { type RelayStore, type SendRecord, type StateChange, timeOfStatus } from '#relay';
import {
  type Counter,
  DELAY_BUCKET_BOUNDS_SECONDS,
  type Histogram,
  type PromMetrics,
} from './prom-metrics.js';
import { countSendStatusChange } from './stats/send-stats.js';
import type { StatsCounter } from './stats/stats-recorder.js';

/** The transitions of a send that record the outcome of its POST to upstream. */
const ATTEMPTS: ReadonlySet<string> = new Set(['accepted', 'refused', 'not_taken', 'ambiguous']);

/** Metrics of sends: the outcomes of their POSTs to upstream, and how long sends stay in each status. */
export class RelayMetrics {
  private readonly attempts: Counter<'outcome'>;
  private readonly statuses: Counter<'status'>;
  private readonly seconds: Histogram<'status'>;

  constructor(
    metrics: PromMetrics,
    private readonly stats: StatsCounter,
  ) {
    this.attempts = metrics.counter(
      'tidings_relay_attempts_total',
      'Attempts to hand a send to the messaging service. `ambiguous`: the service may have taken the send.',
      ['outcome'],
    );
    this.statuses = metrics.counter('tidings_send_statuses_total', 'Sends that reached each status.', [
      'status',
    ]);
    this.seconds = metrics.histogram(
      'tidings_send_status_seconds',
      'Time that sends spent in each status before the next one.',
      ['status'],
      DELAY_BUCKET_BOUNDS_SECONDS,
    );
  }

  /** Wraps the store in an object that counts the transitions of sends. */
  observeStore<T extends RelayStore>(store: T): T {
    return observeMethodCalls<RelayStore>(store, {
      apply: ({ parameters: [account, before, change], outcome }) => {
        if (!('result' in outcome) || outcome.result === undefined) return;
        const attempt = outcomeOfAttempt(change);
        if (attempt !== undefined) this.attempts.labels(attempt).inc();
        this.countStatus(before, outcome.result);
        countSendStatusChange(this.stats, account, before, outcome.result);
      },
      fence: ({ parameters: [, before], outcome }) => {
        if ('result' in outcome && outcome.result.kind === 'fenced')
          this.countStatus(before, outcome.result.record);
      },
    }) as T;
  }

  private countStatus({ state: before }: SendRecord, { state: { status, updatedAt } }: SendRecord): void {
    if (status === before.status) return;
    this.statuses.labels(status).inc();
    const spentMs = updatedAt - timeOfStatus(before);
    this.seconds.labels(before.status).observe(Math.max(spentMs, 0) / 1_000);
  }
}

/** Returns the outcome of the POST that the change records, or undefined if it records none. */
function outcomeOfAttempt({ transition, state }: StateChange): string | undefined {
  // The send changed during the POST: for example, a poll found its message first.
  if (transition === 'attempt_recorded') return state.attempts.at(-1)?.outcome;
  return ATTEMPTS.has(transition) ? transition : undefined;
}
