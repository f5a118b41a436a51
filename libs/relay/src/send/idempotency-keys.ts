import type { IdempotencyKey } from './send-intake.js';

/** Why no new send can be stored under an idempotency key. */
export type IdempotencyKeyUse =
  /** The key already belongs to this send. */
  | { kind: 'replay'; id: string }
  /** The key already belongs to a send with another body. */
  | { kind: 'reused' }
  /** Another request holds the reservation of the key, or the reservation of this request expired. */
  | { kind: 'busy' };

/** Stores which send belongs to each idempotency key, and which request has reserved a key. */
export interface IdempotencyKeys {
  /**
   * Reserves a key, or renews the owner's reservation. Returns false if another owner holds the key. A key that already
   * belongs to a send needs no reservation: the result is true.
   * @param leaseMs lifetime of the reservation, in milliseconds
   */
  reserve(account: string, key: string, owner: string, leaseMs: number): Promise<boolean>;

  /** Releases a reservation if this owner holds it. */
  release(account: string, key: string, owner: string): Promise<void>;

  /** Returns why no send can be stored under the key, or undefined if a send can be stored. */
  recall(account: string, idempotency: IdempotencyKey): Promise<IdempotencyKeyUse | undefined>;
}
