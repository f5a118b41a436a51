import type { IdempotencyKey } from './send-intake.js';

/** Why a key cannot have a new send. */
export type Taken =
  /** It has this send already. */
  | { kind: 'replay'; id: string }
  /** It has a send of another body. */
  | { kind: 'reused' }
  /** It is reserved by another request, or not any more by this one. */
  | { kind: 'busy' };

/** Which sends callers' idempotency keys have, and which requests are about to give them one. */
export interface IdempotencyKeys {
  /** Reserves a key, or renews that; false if another has it. A key that has a send needs no reservation. */
  reserve(account: string, key: string, owner: string, leaseMs: number): Promise<boolean>;

  /** Ends a reservation, if it is this owner's. */
  letGo(account: string, key: string, owner: string): Promise<void>;

  /** Why no send would be stored under the key, or undefined if one would be. */
  recall(account: string, idempotency: IdempotencyKey): Promise<Taken | undefined>;
}
