import type { ReaderLease } from '#events';
import type { Attempt, Delivery, DeliveryStatus, NewDelivery } from './delivery.js';
import type { Throttling } from './retry-policy.js';

/** A delivery that this process may attempt until the lease of the claim expires. */
export interface ClaimedDelivery {
  id: string;
  /** Id of the claim. The store ignores updates from any claim but the delivery's newest. */
  claimId: string;
  endpointId: string;
  eventId: string;
  /** Max requests in flight for an endpoint without its own `maxConcurrency`. */
  defaultConcurrency: number;
  /** Number of attempts since the delivery last became pending. Selects the next wait in the retry schedule. */
  attempts: number;
  /** The event as JSON: the exact bytes of the request body. */
  body: string;
}

/** Limits of a claim. */
export interface ClaimLimits {
  /** Max requests in flight to the endpoint, over all processes. The endpoint's own `maxConcurrency` overrides it. */
  defaultConcurrency: number;
  /** Max number of deliveries to claim. */
  maxDeliveries: number;
  /** Duration of the lease, in milliseconds. Must exceed the time to make and record an attempt. */
  leaseMs: number;
}

/** Result of a claim. */
export type ClaimResult =
  | {
      kind: 'claimed';
      /** The endpoint as stored at the time of the claim, as JSON, without `contactIds`. */
      endpoint: string;
      deliveries: ClaimedDelivery[];
      /** True if further deliveries can be claimed immediately. */
      hasMore: boolean;
      /** True if the backlog has room for deliveries that its bound had excluded. */
      canRefill: boolean;
      /** Number of due deliveries that ended as missed, because the log no longer holds their events. */
      missed: number;
      /**
       * Time until the endpoint's rate limit or pause allows the next claim, in milliseconds. Absent if neither
       * applies.
       */
      waitMs?: number;
    }
  /** The endpoint was removed or disabled. The caller must end its pending deliveries. */
  | { kind: 'ended' };

/** New state of a delivery after an attempt. */
export type Settlement =
  { status: 'succeeded' } | { status: 'pending'; waitMs: number } | { status: 'failed'; reason: string };

/** Result of recording an attempt. */
export interface SettlementResult {
  /** False if nothing was recorded, because the lease had expired or the delivery had ended. */
  isRecorded: boolean;
  /** True if another delivery of the endpoint is due now. */
  hasMore: boolean;
  /** Time since the first of the endpoint's consecutive failures, in milliseconds. 0 after a success. */
  failingMs: number;
}

/** Limits on the kept finished deliveries. Pending deliveries are always kept. */
export interface DeliveryRetention {
  /** Max time since the delivery finished, in milliseconds. */
  maxAgeMs: number;
  /** Max number of finished deliveries per account. */
  maxCount: number;
}

/** One page of an endpoint's deliveries, newest first. */
export interface DeliveryPage {
  deliveries: Delivery[];
  /** Value of `before` for the next page. Absent on the last page. */
  next?: number;
}

/** Selects a page of an endpoint's deliveries. */
export interface DeliveryQuery {
  status?: DeliveryStatus;
  limit: number;
  /** `next` of the previous page. Absent for the first page. */
  before?: number;
}

/** Result of a manual retry. `lost`: the delivery is finished and the log no longer holds its event. */
export type RetryResult = 'retried' | 'lost' | 'disabled' | 'removed' | 'unknown';

/** Max deliveries that one {@link DeliveryStore.refill} creates. */
export const MAX_REFILLED = 500;

/**
 * The stretch of the log that still awaits deliveries, because the endpoint's backlog was full. Both ends are
 * inclusive.
 */
export interface PendingStretch {
  from: string;
  to: string;
  /** Number of deliveries for which the backlog has room now. */
  room: number;
}

/** A stretch of the log that an endpoint missed. Both ends are positions and inclusive. */
export interface Gap {
  from: string;
  to: string;
}

/**
 * Which events a replay sends:
 *
 * - `failed`: events whose delivery failed.
 * - `missed`: events without a delivery, and events whose delivery ended as missed. Causes are a webhook that was
 *   disabled or did not exist, a full backlog, and an event that the log no longer held.
 * - `pending`: events whose delivery waits for its next attempt, which becomes due now.
 * - `all`: all events except those with a pending delivery.
 */
export type ReplayScope = 'failed' | 'missed' | 'pending' | 'all';

/** Stores deliveries. Each change of state is atomic. */
export interface DeliveryStore {
  /**
   * Stores deliveries, due at once. Skips existing deliveries and deliveries of removed endpoints. If an
   * endpoint is disabled or its backlog is full, the delivery is not stored. Its event then belongs to the endpoint's
   * newest gap, which is a range of the log. See {@link DeliveryStore.pendingStretch}.
   * @param reader lease under which the events were read from the log, if any
   * @throws {ReaderLeaseLostError} if the lease belongs to another process
   */
  create(account: string, deliveries: readonly NewDelivery[], reader?: ReaderLease): Promise<void>;
  /** Returns a delivery, or undefined if the delivery is not stored. */
  find(account: string, id: string): Promise<Delivery | undefined>;
  /** Returns a page of an endpoint's deliveries. The page is empty for a removed endpoint. */
  list(account: string, endpointId: string, query: DeliveryQuery): Promise<DeliveryPage>;
  /**
   * Makes a delivery due now. A finished delivery becomes pending, restarts its retry schedule and keeps its attempts.
   * A pending delivery of an ordered endpoint becomes due only if it is the first of its lane.
   */
  retry(account: string, id: string): Promise<RetryResult>;
  /**
   * Makes the deliveries that the scope covers pending and due now. Returns the number of these deliveries. A pending
   * delivery only becomes due sooner. A finished delivery restarts its retry schedule. Does nothing for a disabled or
   * removed endpoint, nor above the max size of the backlog.
   */
  replay(account: string, scope: ReplayScope, deliveries: readonly NewDelivery[]): Promise<number>;
  /** Returns the stretch that awaits deliveries of an endpoint, or undefined if none does or the backlog is full. */
  pendingStretch(account: string, endpointId: string): Promise<PendingStretch | undefined>;
  /**
   * Creates deliveries for the stretch that awaits them, as far as the backlog has room. Returns false if the stretch
   * changed since {@link DeliveryStore.pendingStretch} returned it.
   * @param from start of the stretch, from {@link DeliveryStore.pendingStretch}
   * @param next start of the remaining stretch once all the deliveries are created
   * @param deliveries at most {@link MAX_REFILLED}, in the order of the log
   */
  refill(
    account: string,
    endpointId: string,
    from: string,
    next: string,
    deliveries: readonly NewDelivery[],
  ): Promise<boolean>;
  /** Returns the gaps of an endpoint, oldest first, including the stretch that awaits deliveries. */
  gaps(account: string, endpointId: string): Promise<Gap[]>;
  /** Claims due deliveries of an endpoint. Deliveries under expired leases become due first. */
  claim(account: string, endpointId: string, terms: ClaimLimits): Promise<ClaimResult>;
  /** Records an attempt, the new state of the delivery, and the pace of its endpoint. */
  settle(
    account: string,
    delivery: ClaimedDelivery,
    attempt: Attempt,
    settlement: Settlement,
    throttling?: Throttling,
  ): Promise<SettlementResult>;
  /** Undoes the claim of a delivery, which is due again at once. */
  release(account: string, claimed: ClaimedDelivery): Promise<void>;
  /** Ends the pending deliveries of a removed or disabled endpoint. Does nothing for an enabled endpoint. */
  endPending(account: string, endpointId: string): Promise<void>;
  /** Yields the ids of endpoints with due deliveries, longest due first, in batches. */
  overdue(account: string): AsyncIterable<string[]>;
  /** Removes a bounded number of expired or excess finished deliveries. Returns the number of removed deliveries. */
  trim(account: string, retention: DeliveryRetention): Promise<number>;
}
