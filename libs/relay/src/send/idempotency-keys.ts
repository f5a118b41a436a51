import type { IdempotencyKey } from './send-service.js';

/** Why no new send can be stored under an idempotency key. */
export type IdempotencyKeyUse =
  /** The key was already used for the same request, which created this send. */
  | { kind: 'replay'; id: string }
  /** The key was already used for a request with a different body. */
  | { kind: 'reused' }
  /** Another request has reserved the key, or this request's own reservation has expired. */
  | { kind: 'busy' };

/** Stores which send each idempotency key refers to, and which request has reserved a key. */
export interface IdempotencyKeys {
  /**
   * Reserves a key for a request, or renews the request's reservation. Returns false if another request has reserved
   * the key. If the key already belongs to a send, returns true without a reservation.
   * @param owner id of the request
   * @param leaseMs lifetime of the reservation, in milliseconds
   */
  reserve(account: string, key: string, owner: string, leaseMs: number): Promise<boolean>;

  /** Releases the reservation of a key if `owner` holds it. */
  release(account: string, key: string, owner: string): Promise<void>;

  /** Returns why no new send can be stored under the key, or undefined if a send can be stored. */
  recall(account: string, idempotency: IdempotencyKey): Promise<IdempotencyKeyUse | undefined>;
}
