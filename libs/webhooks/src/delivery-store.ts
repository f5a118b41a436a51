import type { Attempt, Delivery, NewDelivery } from './delivery.js';

/** A delivery that this process may attempt until its lease ends. */
export interface ClaimedDelivery {
  id: string;
  /** Names this claim; one that is not the newest any more changes nothing. */
  claim: string;
  endpointId: string;
  eventId: string;
  /** The endpoint's slots at that time. */
  slots: number;
  /** How many attempts are recorded. */
  attempts: number;
  body: string;
}

/** What a claim may take. */
export interface ClaimTerms {
  /** Requests in flight to the endpoint, over all processes. */
  slots: number;
  /** The most to be claimed now. */
  room: number;
  /** How long a claimed delivery belongs to its claim, in ms: longer than an attempt and its record can take. */
  leaseMs: number;
}

export type Claimed =
  | {
      kind: 'claimed';
      /** The endpoint as it is stored at this moment. */
      endpoint: string;
      deliveries: ClaimedDelivery[];
      /** Whether more could be claimed at once. */
      more: boolean;
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
}

/** How long finished deliveries are kept. Pending ones stay, however old or many. */
export interface DeliveryRetention {
  /** Counted from the final state. */
  maxAgeMs: number;
  maxCount: number;
}

/** The record of all deliveries; every change of state is one step. */
export interface DeliveryStore {
  /** Stores deliveries, due at once. One that exists, finished or not, and one of a removed endpoint is left out. */
  create(account: string, deliveries: readonly NewDelivery[]): Promise<void>;
  find(account: string, id: string): Promise<Delivery | undefined>;
  /** Claims due deliveries of an endpoint; what expired leases held is due again first. */
  claim(account: string, endpointId: string, terms: ClaimTerms): Promise<Claimed>;
  /** Records an attempt and what follows from it. */
  settle(
    account: string,
    claimed: ClaimedDelivery,
    attempt: Attempt,
    settlement: Settlement,
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
