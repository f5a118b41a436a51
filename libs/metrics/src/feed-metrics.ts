import { observeMethodCalls } from '#platform';
import type { ContactPoller, FeedSource, FeedStore, PollQueue, ReadPurpose } from '#feed';
import {
  type Counter,
  DELAY_BUCKET_BOUNDS_SECONDS,
  type Histogram,
  type PromMetrics,
} from './prom-metrics.js';
import { countsOfDelay } from './stats/minute-counts.js';
import type { StatsCounter } from './stats/stats-recorder.js';
import type { UpstreamMetrics } from './upstream-metrics.js';

/** Upper bounds of the histogram buckets for the number of requests that one poll makes. */
const REQUEST_BUCKETS = [0, 1, 2, 3, 5, 10, 20, 50, 100, 500];

/** Metrics of the polls of contacts, and of the changes that the polls find. */
export class FeedMetrics {
  private readonly polls: Counter<'kind' | 'result'>;
  private readonly lateness: Histogram<'kind'>;
  private readonly requests: Histogram<'kind'>;
  /**
   * Number of requests that each running poll has made, by the object that the poll passes on as the purpose of its
   * reads.
   */
  private readonly requestsOf = new WeakMap<object, number>();
  private readonly changes: Counter<'type'>;
  private readonly delays: Histogram;

  constructor(
    metrics: PromMetrics,
    private readonly upstream: Pick<UpstreamMetrics, 'countToken'>,
    private readonly stats: StatsCounter,
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
      DELAY_BUCKET_BOUNDS_SECONDS,
    );
    this.requests = metrics.histogram(
      'tidings_poll_requests',
      'Requests to the messaging service that a poll of a contact made.',
      ['kind'],
      REQUEST_BUCKETS,
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
      DELAY_BUCKET_BOUNDS_SECONDS,
    );
  }

  /**
   * Wraps the store in an object that counts the changes that polls commit, the detection delays of new messages, and
   * the polls without changes that {@link observeQueue} does not count.
   */
  observeStore<T extends FeedStore>(store: T): T {
    return observeMethodCalls<FeedStore>(store, {
      commitPoll: ({ parameters: [account, , { events }], outcome }) => {
        if (!('result' in outcome) || outcome.result === undefined) return;
        for (const { type } of events) this.changes.labels(type).inc();
        for (const delayMs of outcome.result.delaysMs) {
          this.delays.observe(delayMs / 1_000);
          this.stats.add(account, countsOfDelay('detection', delayMs));
        }
      },
      // A commit with a lease also ends the poll's claim, so the queue's method `end` is not called for this poll.
      // `observeQueue` counts a poll when `end` is called, so this poll must be counted here.
      commitUnchangedPoll: ({ parameters: [, , { lease }], outcome }) => {
        if (lease !== undefined && 'result' in outcome && outcome.result !== undefined)
          this.polls.labels('head', 'done').inc();
      },
    }) as T;
  }

  /** Wraps the feed source in an object that counts the requests to upstream that each poll makes. */
  observeSource(source: FeedSource): FeedSource {
    return observeMethodCalls(source, {
      listMessages: ({ parameters: [, , , , purpose] }) => {
        if (typeof purpose === 'object')
          this.requestsOf.set(purpose, (this.requestsOf.get(purpose) ?? 0) + 1);
      },
    });
  }

  /** Wraps the contact poller in an object that records how many requests each poll made. */
  observeContacts(contacts: ContactPoller): ContactPoller {
    const observe = (purpose: ReadPurpose | undefined): void => {
      if (typeof purpose !== 'object') return;
      this.requests.labels(purpose.kind).observe(this.requestsOf.get(purpose) ?? 0);
    };
    return observeMethodCalls(contacts, {
      pollNewMessages: ({ parameters: [, , purpose] }) => {
        observe(purpose);
      },
      runDeepRead: ({ parameters: [, , purpose] }) => {
        observe(purpose);
      },
    });
  }

  /**
   * Wraps the poll queue in an object that counts the polls and their tokens of the budget, and measures how late
   * polls begin.
   */
  observeQueue(queue: PollQueue): PollQueue {
    return observeMethodCalls(queue, {
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
