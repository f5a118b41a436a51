import { observeMethodCalls } from '#platform';
import { type RelayStore, type SendRecord, type SendStatus, timeOfStatus } from '#relay';
import {
  type Counter,
  DELAY_BUCKET_BOUNDS_SECONDS,
  type Histogram,
  type PromMetrics,
} from './prom-metrics.js';
import type { CountName } from './stats/minute-counts.js';
import type { StatsCounter } from './stats/stats-recorder.js';

/** The statuses that the statistics of an account count. */
const COUNTED: Readonly<Partial<Record<SendStatus, CountName>>> = {
  accepted: 'sendsAccepted',
  sent: 'sendsSent',
  failed: 'sendsFailed',
  unknown: 'sendsUnknown',
  expired: 'sendsExpired',
};

/** Metrics and statistics of the statuses of sends. Gateways and workers each count the changes that they make. */
export class SendMetrics {
  private readonly statuses: Counter<'status'>;
  private readonly seconds: Histogram<'status'>;

  constructor(
    metrics: PromMetrics,
    private readonly stats: StatsCounter,
  ) {
    this.statuses = metrics.counter(
      'tidings_send_statuses_total',
      'Sends that reached each status by a step of this process.',
      ['status'],
    );
    this.seconds = metrics.histogram(
      'tidings_send_status_seconds',
      'Time that sends spent in each status until a step of this process changed the status. Scheduled sends that became due are not counted.',
      ['status'],
      DELAY_BUCKET_BOUNDS_SECONDS,
    );
  }

  /** Wraps the store in an object that counts new sends and the changes of their statuses. */
  observeStore<T extends RelayStore>(store: T): T {
    return observeMethodCalls<RelayStore>(store, {
      insert: ({ parameters: [account, { sendAt }], outcome }) => {
        if (!('result' in outcome) || outcome.result.kind !== 'new') return;
        this.statuses.labels(sendAt === undefined ? 'queued' : 'scheduled').inc();
        this.stats.add(account, { sendsCreated: 1 });
      },
      promoteScheduled: ({ outcome }) => {
        // The store returns one recipient per send.
        if ('result' in outcome) this.statuses.labels('queued').inc(outcome.result.length);
      },
      apply: ({ parameters: [account, before], outcome }) => {
        if ('result' in outcome && outcome.result !== undefined) this.count(account, before, outcome.result);
      },
      fence: ({ parameters: [account, before], outcome }) => {
        if ('result' in outcome && outcome.result.kind === 'fenced')
          this.count(account, before, outcome.result.record);
      },
    }) as T;
  }

  private count(account: string, { state: before }: SendRecord, { state: after }: SendRecord): void {
    const { status } = after;
    if (status === before.status) return;
    this.statuses.labels(status).inc();
    const spentMs = after.updatedAt - timeOfStatus(before);
    this.seconds.labels(before.status).observe(Math.max(spentMs, 0) / 1_000);
    const name = COUNTED[status];
    if (name !== undefined) this.stats.add(account, { [name]: 1 });
  }
}
