import type { TraceContext } from '#platform';
import type { ReaderLease } from '#events';
import type { EndpointForDelivery } from '../endpoint/stored-endpoint.js';
import type { Attempt, Delivery, DeliveryStatus, NewDelivery } from './delivery.js';
import type { Throttling } from './retry-policy.js';

/** A delivery that this process may attempt until its lease expires. */
export interface ClaimedDelivery {
  id: string;
  /** Id of the claim. If the delivery has been claimed again since, the store ignores updates with this id. */
  claimId: string;
  endpointId: string;
  /** URL of the endpoint at the time of the claim. */
  url: string;
  eventId: string;
  /** Max number of requests in flight to an endpoint that has no `maxConcurrency` of its own. */
  defaultConcurrency: number;
  /**
   * Number of attempts since the delivery was created, or since a retry or replay last made the finished delivery
   * pending again. The number selects the next wait in the retry schedule.
   */
  attempts: number;
  /** The event as JSON: the exact bytes of the request body. */
  body: string;
  /** The trace of the event, if any. Every attempt continues this trace. */
  trace?: TraceContext;
}

/** Limits that apply when a worker claims deliveries. */
export interface ClaimLimits {
  /**
   * Max number of requests in flight to the endpoint, over all processes. The endpoint's own `maxConcurrency`
   * overrides it.
   */
  defaultConcurrency: number;
  /** Max number of deliveries to claim. */
  maxDeliveries: number;
  /** Duration of the lease, in milliseconds. Must be longer than it takes to make and record an attempt. */
  leaseMs: number;
}

/** Result of claiming deliveries. */
export type ClaimResult =
  | {
      kind: 'claimed';
      /** The endpoint as stored at the time of the claim. */
      endpoint: EndpointForDelivery;
      deliveries: ClaimedDelivery[];
      /** True if further deliveries can be claimed immediately. */
      hasMore: boolean;
      /** True if deliveries can now be created for events that got no delivery because the backlog was full. */
      canRefill: boolean;
      /** Number of due deliveries that are now `missed`, because the event log no longer contains their events. */
      missed: number;
      /**
       * Time in milliseconds until the next claim. Present only if further deliveries are due but the endpoint may get
       * no requests now: its rate limit is reached, or its last replies showed overload.
       */
      waitMs?: number;
    }
  /** The endpoint was removed or disabled. The caller must call `endPending`. */
  | { kind: 'ended' };

/** New state of a delivery after an attempt. */
export type Settlement =
  | { status: 'succeeded' }
  /** `waitMs`, `requestedMs`: as in {@link DeliveryDecision} */
  | { status: 'pending'; waitMs: number; requestedMs?: number }
  | { status: 'failed'; reason: string };

/** An attempt that has ended, the new state of its delivery, and its effect on further requests to the endpoint. */
export interface FinishedAttempt {
  delivery: ClaimedDelivery;
  attempt: Attempt;
  settlement: Settlement;
  throttling: Throttling;
}

/**
 * Max number of attempts that one call of {@link DeliveryStore.settleAll} records, so that no step blocks Redis for
 * long.
 */
export const MAX_ATTEMPTS_RECORDED_AT_ONCE = 200;

/** Result of recording an attempt. */
export interface SettlementResult {
  /**
   * False if nothing was recorded, because the claim had ended: its lease had expired and the delivery was made due
   * again, or the delivery had ended.
   */
  isRecorded: boolean;
  /**
   * True if the endpoint needs further work now: another delivery is due, the endpoint's backlog can be refilled, or
   * the endpoint was disabled and its pending deliveries must end. If several attempts of an endpoint are recorded
   * together, `hasMore` can be true only in the result of the last of these attempts.
   */
  hasMore: boolean;
  /**
   * For how long all attempts to the endpoint have failed, in milliseconds. Counts from the first failed attempt
   * after the last success. 0 after a success, if nothing was recorded, or if the endpoint was removed or got another
   * URL since the claim.
   */
  failingMs: number;
}

/** Limits on the age and number of finished deliveries. Pending deliveries are always kept. */
export interface DeliveryRetention {
  /** Time after which a finished delivery is removed, in milliseconds. */
  maxAgeMs: number;
  /** Max number of finished deliveries that are kept per account. */
  maxCount: number;
}

/** One page of deliveries, newest first. */
export interface DeliveryPage {
  deliveries: Delivery[];
  /** Value of {@link DeliveryQuery.before} that selects the next page. Absent on the last page. */
  next?: number;
}

/** Selects a page of deliveries. */
export interface DeliveryQuery {
  /** Selects only deliveries of this event: at most one per endpoint. */
  eventId?: string;
  status?: DeliveryStatus;
  /**
   * Selects only the deliveries that finished at `since` or later, and the pending deliveries that were created at
   * `since` or later. In milliseconds since 1970 by Redis' clock.
   */
  since?: number;
  limit: number;
  /** Value of {@link DeliveryPage.next} in the previous page. Absent for the first page. */
  before?: number;
}

/**
 * Result of a retry that a caller requested. `lost`: the delivery is finished, and the event log no longer contains
 * its event. `full`: the delivery is finished, and the backlog of the endpoint is full. `disabled` or `removed`: the
 * webhook is disabled or was removed. `unknown`: the delivery does not exist.
 */
export type RetryResult = 'retried' | 'lost' | 'full' | 'disabled' | 'removed' | 'unknown';

/**
 * Result of a request to deliver one event to one endpoint now. `due`: the delivery is pending, and due as soon as
 * possible. `lost`: the event log no longer contains the event. `full`: the backlog of the endpoint is full.
 * `waiting`: the endpoint is ordered, and this or an earlier event is not dispatched yet or waits for room in the
 * backlog. If the endpoint's filter matches the event, it is delivered in its turn. `disabled` or `removed`: the
 * endpoint is disabled or was removed.
 */
export type DeliverNowResult = 'due' | 'lost' | 'full' | 'waiting' | 'disabled' | 'removed';

/** Max number of deliveries that one call of {@link DeliveryStore.refill} creates. */
export const MAX_DELIVERIES_PER_BACKLOG_REFILL = 500;

/**
 * A range of the event log whose events have no deliveries to an endpoint yet, because too many deliveries were
 * pending. Both ends are positions in the log and inclusive.
 */
export interface RefillRange {
  from: string;
  to: string;
  /** Number of deliveries that may be created for the endpoint now. */
  room: number;
}

/**
 * Which events a replay delivers:
 *
 * - `failed`: events whose delivery failed.
 * - `missed`: events that were never delivered, because the webhook was disabled or did not exist, because too many
 *   deliveries were pending, or because the event was deleted from the event log before it could be delivered.
 * - `pending`: events whose delivery waits for its next attempt. The attempt becomes due now.
 * - `all`: all events except those with a pending delivery.
 */
export type ReplayScope = 'failed' | 'missed' | 'pending' | 'all';

/** Result of the replay of some events. */
export interface ReplayStep {
  /** Number of deliveries that were created, became pending, or became due now. */
  count: number;
  /** True if the replay stopped because the backlog is full. Later events must not be replayed then. */
  isBacklogFull: boolean;
}

/** Stores deliveries. Each change of a delivery is atomic. */
export interface DeliveryStore {
  /**
   * Stores new deliveries. A new delivery is due at once, except at an ordered endpoint that has a pending delivery
   * of an earlier event of the same contact. Skips deliveries that already exist, and deliveries to removed
   * endpoints. If an endpoint is disabled, if its backlog is full, or if earlier events wait for room in its backlog,
   * its delivery is not stored. Instead, the event is recorded in the newest of the endpoint's gaps: the ranges of
   * the log that the endpoint missed. Unless the endpoint is disabled, {@link DeliveryStore.refill} creates the
   * delivery later.
   * @param reader lease under which the events were read from the log, if any
   * @throws {EventLogReaderLeaseLostError} if the lease belongs to another process
   */
  create(account: string, deliveries: readonly NewDelivery[], reader?: ReaderLease): Promise<void>;
  /** Returns a delivery, or undefined if the delivery is not stored. */
  find(account: string, id: string): Promise<Delivery | undefined>;
  /** Returns a page of an endpoint's deliveries. The page is empty for a removed endpoint. */
  list(account: string, endpointId: string, query: DeliveryQuery): Promise<DeliveryPage>;
  /** Returns a page of the deliveries of all endpoints, without those of removed endpoints. */
  listAll(account: string, query: DeliveryQuery): Promise<DeliveryPage>;
  /**
   * Makes a delivery due now. A finished delivery becomes pending, restarts its retry schedule and keeps its list of
   * attempts. A pending delivery to an ordered endpoint becomes due only if no earlier event of the same contact has a
   * pending delivery.
   */
  retry(account: string, id: string): Promise<RetryResult>;
  /**
   * Replays events to an endpoint. Changes only the deliveries that `scope` selects:
   *
   * - A delivery that is not stored is created.
   * - A finished delivery becomes pending, and its retry schedule restarts.
   * - A pending delivery becomes due now.
   *
   * Does nothing for a disabled or removed endpoint. Stops at the first event for which the endpoint's backlog has no
   * room. Leaves out events that already wait for room in the backlog of an ordered endpoint, because
   * {@link DeliveryStore.refill} creates their deliveries in order.
   * @param events the next events of the replay, oldest first
   */
  replay(
    account: string,
    endpointId: string,
    scope: ReplayScope,
    events: readonly NewDelivery['event'][],
  ): Promise<ReplayStep>;
  /**
   * Returns the number of deliveries that {@link DeliveryStore.replay} would change. Changes nothing.
   * @param events the next events of the replay
   * @param counted sum of the results for the earlier events of the replay; the deliveries of these events would also
   * take up room in the backlog
   */
  countReplay(
    account: string,
    endpointId: string,
    scope: ReplayScope,
    events: readonly NewDelivery['event'][],
    counted: number,
  ): Promise<number>;
  /**
   * Delivers an event now, even if the endpoint's filter does not match. Creates the delivery if it does not exist, and
   * otherwise does the same as {@link DeliveryStore.retry}. Delivers nothing in the cases that
   * {@link DeliverNowResult} lists. A delivery that is already pending is attempted even if the backlog is full.
   */
  deliverNow(account: string, delivery: NewDelivery): Promise<DeliverNowResult>;
  /**
   * Returns the range of the event log for which an endpoint's deliveries must still be created. Returns undefined if
   * no such range exists, or if no delivery may be created now: the endpoint still has too many pending deliveries,
   * or it has many and its last refill was only seconds ago.
   */
  readRefillRange(account: string, endpointId: string): Promise<RefillRange | undefined>;
  /**
   * Creates deliveries for the range that {@link DeliveryStore.readRefillRange} returned, until the endpoint's backlog
   * is full. Then moves the start of the range past the processed events. Does nothing and returns false if the range
   * has changed since it was read, or if the endpoint may get no more deliveries now.
   * @param from start of the range, as `readRefillRange` returned it
   * @param next new start of the range if all given deliveries are created
   * @param deliveries at most {@link MAX_DELIVERIES_PER_BACKLOG_REFILL}, in the order of the event log
   */
  refill(
    account: string,
    endpointId: string,
    from: string,
    next: string,
    deliveries: readonly NewDelivery[],
  ): Promise<boolean>;
  /**
   * Claims due deliveries of an endpoint for this process. Before that, makes deliveries with an expired lease due
   * again.
   */
  claim(account: string, endpointId: string, terms: ClaimLimits): Promise<ClaimResult>;
  /**
   * Records attempts and the new states of their deliveries in one step. Also updates the limits on further requests to
   * the endpoints. The attempts of one endpoint are recorded in the order of `attempts`. Returns a result for each
   * attempt, in the order of `attempts`.
   * @param attempts at most {@link MAX_ATTEMPTS_RECORDED_AT_ONCE}
   */
  settleAll(account: string, attempts: readonly FinishedAttempt[]): Promise<SettlementResult[]>;
  /**
   * Ends the claim of a delivery without recording an attempt. The delivery is due again at once. Used if no attempt
   * was made, or if the attempt was aborted. Does nothing if the claim has already ended.
   */
  release(account: string, claimed: ClaimedDelivery): Promise<void>;
  /**
   * Ends the pending deliveries of a removed or disabled endpoint. At a disabled endpoint, a delivery whose attempt
   * is in progress stays pending until the attempt has ended. Does nothing for an enabled endpoint.
   */
  endPending(account: string, endpointId: string): Promise<void>;
  /**
   * Yields, in batches, the ids of all endpoints that need work now, for example because deliveries are due or a
   * lease has expired. Endpoints that have needed work longest come first.
   */
  overdue(account: string): AsyncIterable<string[]>;
  /**
   * Removes finished deliveries that exceed the retention limits, up to a maximum number per call. Returns the number
   * of removed deliveries.
   */
  trim(account: string, retention: DeliveryRetention): Promise<number>;
}
