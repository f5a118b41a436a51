import { type CallObservers, observeMethodCalls } from '#platform';
import {
  type AdaptiveBudget,
  type Upstream,
  type UpstreamAddress,
  UpstreamConnectionLostError,
  UpstreamError,
  UpstreamReplyUnreadableError,
  UpstreamRequestNotSentError,
  UpstreamStatusError,
  UpstreamTimeoutError,
  UpstreamUnreachableError,
} from '#upstream';
import { MetricLabelValueLimiter } from './metric-label-value-limiter.js';
import type { Counter, Histogram, PromMetrics } from './prom-metrics.js';
import type { StatsCounter } from './stats/stats-recorder.js';

/** Maximum number of HTTP statuses that get time series of their own. All further statuses share one label value. */
const MAX_STATUSES = 20;

/** A request to upstream that has ended. */
interface ObservedRequest {
  parameters: readonly [UpstreamAddress, ...unknown[]];
  outcome: { result: unknown } | { error: unknown };
  seconds: number;
}

/** Metrics of the requests to upstream and of the waits for the request budget. */
export class UpstreamMetrics {
  private readonly requests: Counter<'operation' | 'outcome'>;
  private readonly durations: Histogram<'operation'>;
  private readonly tokens: Counter<'class'>;
  private readonly waits: Histogram<'class'>;
  private readonly refusals: Counter<'class'>;
  /**
   * Number of expired tokens that were returned to the budget after they were counted, by class. A counter cannot
   * decrease, so the same number of later tokens of the class is not counted. Decreases with each of these later
   * tokens.
   */
  private readonly returned = new Map<string, number>();
  private readonly statuses = new MetricLabelValueLimiter(MAX_STATUSES);

  constructor(
    metrics: PromMetrics,
    private readonly stats: StatsCounter,
  ) {
    this.requests = metrics.counter(
      'tidings_upstream_requests_total',
      'Requests to the messaging service. The outcome is `ok`, `http_` with a status, or the kind of error.',
      ['operation', 'outcome'],
    );
    this.durations = metrics.histogram(
      'tidings_upstream_request_duration_seconds',
      'Duration of the requests to the messaging service. It includes a wait for the request budget only if the token of the request expired before the request was sent.',
      ['operation'],
    );
    this.tokens = metrics.counter(
      'tidings_budget_tokens_total',
      'Tokens that the request budget granted, minus the expired tokens that requests returned, by class.',
      ['class'],
    );
    this.waits = metrics.histogram(
      'tidings_budget_wait_seconds',
      'Time for which sends and reads of callers waited for the request budget.',
      ['class'],
    );
    this.refusals = metrics.counter(
      'tidings_budget_refusals_total',
      'Sends and reads of callers that waited for the request budget and got no token, by class.',
      ['class'],
    );
  }

  /** Wraps the client of upstream in an object that counts and times its requests. */
  observe(upstream: Upstream): Upstream {
    const observer =
      (operation: string) =>
      (request: ObservedRequest): void => {
        this.count(operation, request);
      };
    const observers: CallObservers<Upstream> = {
      send: observer('send'),
      listContacts: observer('list_contacts'),
      listMessages: observer('list_messages'),
      readContactsText: observer('read_contacts'),
      readMessagesText: observer('read_messages'),
    };
    return observeMethodCalls(upstream, observers);
  }

  /** Wraps the budget in an object that counts the tokens, waits and refusals of the budget. */
  observeBudget<T extends AdaptiveBudget>(budget: T): T {
    const observers: CallObservers<AdaptiveBudget> = {
      acquire: ({ parameters: [, , kind, , unused], outcome, seconds }) => {
        this.addReturned(kind, unused);
        this.waits.labels(kind).observe(seconds);
        if ('result' in outcome) this.countToken(kind);
        else this.refusals.labels(kind).inc();
      },
      tryAcquire: ({ parameters: [, , kind, unused], outcome }) => {
        this.addReturned(kind, unused);
        if ('result' in outcome && outcome.result.waitMs === 0) this.countToken(kind);
      },
    };
    return observeMethodCalls(budget, observers as CallObservers<T>);
  }

  /**
   * Counts one token of the budget. Callers need this method only for a token that they take without the budget's own
   * methods. For example, the script that claims a contact's poll also takes a token.
   */
  countToken(kind: string): void {
    const returned = this.returned.get(kind) ?? 0;
    if (returned > 0) this.returned.set(kind, returned - 1);
    else this.tokens.labels(kind).inc();
  }

  /** Like {@link countToken}, and also records that there was no wait for the token. */
  countTokenAtOnce(kind: string): void {
    this.waits.labels(kind).observe(0);
    this.countToken(kind);
  }

  private addReturned(kind: string, count = 0): void {
    if (count > 0) this.returned.set(kind, (this.returned.get(kind) ?? 0) + count);
  }

  private count(operation: string, { parameters: [{ id }], outcome, seconds }: ObservedRequest): void {
    this.requests.labels(operation, 'result' in outcome ? 'ok' : this.kindOf(outcome.error)).inc();
    this.durations.labels(operation).observe(seconds);
    if (id !== undefined) this.countRequest(id, outcome);
  }

  private countRequest(account: string, outcome: ObservedRequest['outcome']): void {
    if ('result' in outcome) {
      this.stats.add(account, { requestsUsed: 1 });
      return;
    }
    const { error } = outcome;
    // The statistics of the account do not count a request that was not sent.
    if (!(error instanceof UpstreamError) || error instanceof UpstreamRequestNotSentError) return;
    const isThrottled = error instanceof UpstreamStatusError && error.status === 429;
    this.stats.add(account, { requestsUsed: 1, [isThrottled ? 'requestsThrottled' : 'requestsFailed']: 1 });
  }

  private kindOf(error: unknown): string {
    if (error instanceof UpstreamStatusError) return this.statuses.valueOf(`http_${error.status}`);
    if (error instanceof UpstreamTimeoutError) return 'timeout';
    if (error instanceof UpstreamUnreachableError) return 'unreachable';
    if (error instanceof UpstreamConnectionLostError) return 'connection_lost';
    if (error instanceof UpstreamReplyUnreadableError) return 'unreadable_reply';
    if (error instanceof UpstreamRequestNotSentError) return 'not_sent';
    return 'error';
  }
}
