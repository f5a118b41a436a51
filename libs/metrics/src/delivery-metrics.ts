import type { LoggedEvent } from '#events';
import { type Clock, observeMethodCalls } from '#platform';
import type { DeliveryStore, EventDispatcher, FinishedAttempt } from '#webhooks';
import { MetricLabelValueLimiter } from './metric-label-value-limiter.js';
import {
  type Counter,
  DELAY_BUCKET_BOUNDS_SECONDS,
  type Histogram,
  type PromMetrics,
} from './prom-metrics.js';
import { countsOfDelay } from './stats/minute-counts.js';
import type { StatsCounter } from './stats/stats-recorder.js';

/**
 * Number of webhooks with their own time series: the first since the process started. The others share one time
 * series.
 */
const MAX_WEBHOOKS = 100;
/** Number of characters at the start of an event's JSON in which its timestamp is searched for. */
const HEAD_OF_EVENT = 300;

/** Metrics of events and of their deliveries to webhooks. */
export class DeliveryMetrics {
  private readonly events: Counter<'type'>;
  private readonly attempts: Counter<'webhook' | 'outcome'>;
  private readonly durations: Histogram;
  private readonly delays: Histogram;
  private readonly webhooks = new MetricLabelValueLimiter(MAX_WEBHOOKS);

  constructor(
    metrics: PromMetrics,
    private readonly clock: Clock,
    private readonly stats: StatsCounter,
  ) {
    this.events = metrics.counter(
      'tidings_events_dispatched_total',
      'Events that were dispatched to the webhooks that subscribe to them, if any, by type.',
      ['type'],
    );
    this.attempts = metrics.counter(
      'tidings_delivery_attempts_total',
      `Delivery attempts by outcome and by webhook: the first ${MAX_WEBHOOKS} webhooks since the start of the process, even if they were removed, and the rest as \`other\`.`,
      ['webhook', 'outcome'],
    );
    this.durations = metrics.histogram(
      'tidings_delivery_attempt_duration_seconds',
      'Duration of the delivery attempts.',
    );
    this.delays = metrics.histogram(
      'tidings_delivery_delay_seconds',
      'Time from an event to its receipt by a webhook, for deliveries that succeeded.',
      [],
      DELAY_BUCKET_BOUNDS_SECONDS,
    );
  }

  /** Wraps the dispatcher in an object that counts the dispatched events. */
  observeDispatcher(dispatcher: Pick<EventDispatcher, 'dispatch'>): Pick<EventDispatcher, 'dispatch'> {
    return observeMethodCalls(dispatcher, {
      dispatch: ({ parameters: [account, events], outcome }) => {
        if ('result' in outcome) for (const event of events) this.countEvent(account, event);
      },
    });
  }

  /**
   * Wraps the store in an object that counts the recorded delivery attempts, and measures their durations and delays.
   */
  observeStore<T extends DeliveryStore>(store: T): T {
    return observeMethodCalls<DeliveryStore>(store, {
      settleAll: ({ parameters: [account, attempts], outcome }) => {
        if (!('result' in outcome)) return;
        for (const [n, attempt] of attempts.entries()) {
          if (outcome.result[n]?.isRecorded === true) this.count(account, attempt);
        }
      },
    }) as T;
  }

  private countEvent(account: string, { type, position }: LoggedEvent): void {
    this.events.labels(type).inc();
    // The event is counted for the minute of its commit. The time of the commit is the first part of the event's
    // position in the event log.
    const at = Number.parseInt(position, 10);
    this.stats.add(account, { eventsTotal: 1, eventsReceived: type === 'message.received' ? 1 : 0 }, at);
  }

  private count(account: string, { delivery, attempt, settlement: { status } }: FinishedAttempt): void {
    const result = status === 'pending' ? 'retry' : status;
    this.attempts.labels(this.webhooks.valueOf(delivery.endpointId), result).inc();
    this.durations.observe(attempt.durationMs / 1_000);
    if (status !== 'succeeded') {
      this.stats.add(account, { deliveryAttemptsFailed: 1, deliveriesFailed: status === 'failed' ? 1 : 0 });
      return;
    }
    const at = timeOfEvent(delivery.body);
    const delayMs = at === undefined ? undefined : Math.max(this.clock.now() - at, 0);
    if (delayMs !== undefined) this.delays.observe(delayMs / 1_000);
    const delay = delayMs === undefined ? {} : countsOfDelay('delivery', delayMs);
    this.stats.add(account, { deliveriesSucceeded: 1, ...delay });
  }
}

/**
 * Returns the timestamp of an event, in milliseconds since 1970, or undefined if the start of the event's JSON does
 * not contain it. Only the start is searched, because parsing the whole event would cost more.
 */
function timeOfEvent(body: string): number | undefined {
  const [, timestamp] = /"timestamp":"([^"]{20,40})"/.exec(body.slice(0, HEAD_OF_EVENT)) ?? [];
  return timestamp === undefined ? undefined : Date.parse(timestamp);
}
