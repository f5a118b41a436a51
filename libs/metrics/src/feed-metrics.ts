import { observedCalls } from '#platform';
import type { FeedStore, PollQueue } from '#feed';
import { type Counter, DELAY_BUCKETS, type Histogram, type PromMetrics } from './prom-metrics.js';
import type { UpstreamMetrics } from './upstream-metrics.js';

/** Metrics of the polls of contacts, and of the changes that the polls find. */
export class FeedMetrics {
  private readonly polls: Counter<'kind' | 'result'>;
  private readonly lateness: Histogram<'kind'>;
  private readonly changes: Counter<'type'>;
  private readonly delays: Histogram;

  constructor(
    metrics: PromMetrics,
    private readonly upstream: Pick<UpstreamMetrics, 'countToken'>,
  ) {
    this.polls = metrics.counter(
      'tidings_polls_total',
      'Polls of contacts. Kind `head` reads the newest messages, `deep` older ones.',
      ['kind', 'result'],
    );
    this.lateness = metrics.histogram(
      'tidings_poll_lateness_seconds',
      'Time by which a contact was overdue when its poll began.',
      ['kind'],
      DELAY_BUCKETS,
    );
    this.changes = metrics.counter(
      'tidings_message_changes_total',
      'Changes of messages that polls found and emitted, by event type.',
      ['type'],
    );
    this.delays = metrics.histogram(
      'tidings_detection_delay_seconds',
      'Time from the timestamp of a new message to the commit of its event, corrected for the difference between the clocks.',
      [],
      DELAY_BUCKETS,
    );
  }

  /** Wraps the store in an object that counts the changes that polls commit. */
  observeStore<T extends FeedStore>(store: T): T {
    return observedCalls<FeedStore>(store, {
      commitPoll: ({ parameters: [, , { events }], outcome }) => {
        if (!('result' in outcome) || outcome.result === undefined) return;
        for (const { type } of events) this.changes.labels(type).inc();
        for (const delayMs of outcome.result.delaysMs) this.delays.observe(delayMs / 1_000);
      },
    }) as T;
  }

  /** Wraps the queue in an object that counts the polls. */
  observeQueue(queue: PollQueue): PollQueue {
    return observedCalls(queue, {
      claim: ({ outcome }) => {
        if (!('result' in outcome) || !('claimed' in outcome.result)) return;
        const { kind, overdueMs } = outcome.result.claimed;
        this.upstream.countToken(kind === 'head' ? 'poll' : 'deep');
        this.lateness.labels(kind).observe(Math.max(overdueMs, 0) / 1_000);
      },
      end: ({ parameters: [, { kind }, result] }) => {
        this.polls.labels(kind, result).inc();
      },
    });
  }
}
