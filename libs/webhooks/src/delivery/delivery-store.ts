import type { ReaderLease } from '#events';
import type { Attempt, Delivery, DeliveryStatus, NewDelivery } from './delivery.js';
import type { Strain } from './retry-policy.js';

/** A delivery that this process may attempt until its lease ends. */
export interface ClaimedDelivery {
  id: string;
  /** Names this claim; one that is not the newest any more changes nothing. */
  claim: string;
  endpointId: string;
  eventId: string;
  /** The slots of an endpoint that says nothing of its own. */
  slots: number;
  /** How many attempts were made since it last became pending: its place in the schedule. */
  attempts: number;
  /** The event as JSON: what is posted, byte for byte. */
  body: string;
}

/** What a claim may take. */
export interface ClaimTerms {
  /** Requests in flight to the endpoint, over all processes, unless it says otherwise. */
  slots: number;
  /** The most to be claimed now. */
  room: number;
  /** How long a claimed delivery belongs to its claim, in ms: longer than an attempt and its record can take. */
  leaseMs: number;
}

export type Claimed =
  | {
      kind: 'claimed';
      /** The endpoint as it is stored at this moment, without the ids of contacts that it asks for. */
      endpoint: string;
      deliveries: ClaimedDelivery[];
      /** Whether more could be claimed at once. */
      more: boolean;
      /** Whether some of what is behind can be made pending now. */
      canRefill: boolean;
      /** How many of those that were due have ended as missed: the log does not have their events any more. */
      missed: number;
      /** After how many ms the endpoint's pace allows what is due and was left; absent where the pace left nothing. */
      waitMs?: number;
    }
  /** The endpoint was removed or disabled: what is pending must end. */
  | { kind: 'ended' };

/** What becomes of a delivery after an attempt. */
export type Settlement =
  { status: 'succeeded' } | { status: 'pending'; waitMs: number } | { status: 'failed'; reason: string };

export interface Settled {
  /** False if the lease had ended or the delivery was ended meanwhile: nothing was recorded. */
  recorded: boolean;
  /** Whether another delivery of the endpoint is due now. */
  more: boolean;
  /** For how long the endpoint has only failed, in ms; 0 after a success. */
  failingMs: number;
}

/** How long finished deliveries are kept. Pending ones stay, however old. */
export interface DeliveryRetention {
  /** Counted from the final state. */
  maxAgeMs: number;
  maxCount: number;
}

/** A page of an endpoint's deliveries, the newest first. */
export interface DeliveryPage {
  deliveries: Delivery[];
  /** Where the next page begins; absent on the last. */
  next?: number;
}

export interface DeliveryQuery {
  status?: DeliveryStatus;
  limit: number;
  /** The `next` of an earlier page. */
  before?: number;
}

/** What became of the wish to have a delivery tried now. `lost`: it is finished, and its event is not kept. */
export type Retried = 'retried' | 'lost' | 'disabled' | 'removed' | 'unknown';

/** Deliveries that one {@link DeliveryStore.refill} makes at most. */
export const MOST_REFILLED = 500;

/** What of the log is not made deliveries of yet, since the endpoint's backlog is full: both ends are places, and in it. */
export interface Behind {
  from: string;
  to: string;
  /** How many may be made pending now. */
  room: number;
}

/** A stretch of the log that an endpoint missed: both ends are places, and in it. */
export interface Gap {
  from: string;
  to: string;
}

/**
 * Which events a replay sends: whose delivery failed; that the endpoint missed while it was disabled or before it
 * existed or above the bound of its backlog, those included whose pending delivery ended because it was disabled or the log
 * had let go of its event; whose delivery waits for its next attempt,
 * which is made now; or all but those that are pending.
 */
export type ReplayScope = 'failed' | 'missed' | 'pending' | 'all';

/** The record of all deliveries; every change of state is one step. */
export interface DeliveryStore {
  /**
   * Stores deliveries, due at once. One that exists, finished or not, and one of a removed endpoint is left out; one of
   * a disabled endpoint widens its newest gap instead, and so does one above the bound of the endpoint's backlog: see
   * {@link DeliveryStore.behind}.
   * @param reader who must still be the reader of the log, if the events were read there
   * @throws {ReaderLeaseLostError}
   */
  create(account: string, deliveries: readonly NewDelivery[], reader?: ReaderLease): Promise<void>;
  find(account: string, id: string): Promise<Delivery | undefined>;
  /** An endpoint's deliveries that are kept; none of an endpoint that was removed. */
  list(account: string, endpointId: string, query: DeliveryQuery): Promise<DeliveryPage>;
  /**
   * Makes a finished delivery pending again: due now, its schedule from the start, its attempts kept; or a pending one due
   * now, if it has its turn.
   */
  retry(account: string, id: string): Promise<Retried>;
  /**
   * Makes those of the deliveries pending, due now, that the scope covers; how many. None is ever doubled: what is
   * pending stays, and is only made due sooner, and what is finished begins its schedule again. Nothing for an endpoint that
   * is disabled or removed, and nothing above the most that an endpoint's backlog may hold.
   */
  replay(account: string, scope: ReplayScope, deliveries: readonly NewDelivery[]): Promise<number>;
  /** What is behind at an endpoint and can be made deliveries of now; undefined where nothing is. */
  behind(account: string, endpointId: string): Promise<Behind | undefined>;
  /**
   * Makes deliveries of what is behind, as far as there is room; false if that has changed meanwhile.
   * @param from where it begins, as {@link DeliveryStore.behind} said
   * @param next where it begins when all of the deliveries are made
   * @param deliveries in the order of the log, no more than {@link MOST_REFILLED}
   */
  refill(
    account: string,
    endpointId: string,
    from: string,
    next: string,
    deliveries: readonly NewDelivery[],
  ): Promise<boolean>;
  /** What an endpoint missed, oldest first; what is behind, too. */
  gaps(account: string, endpointId: string): Promise<Gap[]>;
  /** Claims due deliveries of an endpoint; what expired leases held is due again first. */
  claim(account: string, endpointId: string, terms: ClaimTerms): Promise<Claimed>;
  /** Records an attempt and what follows from it, for the delivery and for its endpoint's pace. */
  settle(
    account: string,
    claimed: ClaimedDelivery,
    attempt: Attempt,
    settlement: Settlement,
    strain?: Strain,
  ): Promise<Settled>;
  /** Gives a claimed delivery back, due now, as if it had not been claimed. */
  release(account: string, claimed: ClaimedDelivery): Promise<void>;
  /** Ends what is pending at an endpoint that was removed or disabled; nothing at any other. */
  endPending(account: string, endpointId: string): Promise<void>;
  /** The endpoints that have something due, oldest first. */
  overdue(account: string): AsyncIterable<string[]>;
  /** Removes what retention lets go, a bounded number at a time; the number that was removed. */
  trim(account: string, retention: DeliveryRetention): Promise<number>;
}
