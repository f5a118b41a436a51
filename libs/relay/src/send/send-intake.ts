import type { NewSend, Send } from './send.js';

/** A caller's key against doubling, with a digest of what was asked under it. */
export interface IdempotencyKey {
  key: string;
  /** Hexadecimal digest of the same fields and file digests, whatever their encoding was. */
  fingerprint: string;
  /** Who reserved the key, if it was; then the send is stored only while that reservation holds. */
  owner?: string;
}

/** For how long a reservation holds that is not renewed, in milliseconds. */
export const RESERVATION_MS = 10_000;

/** Another request of this idempotency key is being read. */
export class IdempotencyInProgressError extends Error {
  constructor() {
    super('The first request of this Idempotency-Key is still being read; try again.');
    this.name = 'IdempotencyInProgressError';
  }
}

/** What became of an accepted request. */
export interface Acceptance {
  /** Of the send. */
  id: string;
  /** Whether the send is an earlier one, of the same idempotency key; nothing new was stored. */
  replayed: boolean;
}

/** The idempotency key was used before, for another body. */
export class IdempotencyKeyReusedError extends Error {
  constructor() {
    super('The Idempotency-Key was used before with another body; use a new key for a new send.');
    this.name = 'IdempotencyKeyReusedError';
  }
}

/** The send cannot be cancelled any more. */
export class SendNotCancellableError extends Error {
  constructor(readonly status: Send['status']) {
    super(`The send is ${status}; only a scheduled or queued send can be cancelled.`);
    this.name = 'SendNotCancellableError';
  }
}

/** What an operator says of a send of which nobody knows what became. */
export type ResolveOutcome = 'resend' | 'sent' | 'failed';

export const RESOLVE_OUTCOMES = ['resend', 'sent', 'failed'] as const satisfies readonly ResolveOutcome[];

/** The send cannot be resolved so. */
export class SendNotResolvableError extends Error {
  constructor(reason: string) {
    super(reason);
    this.name = 'SendNotResolvableError';
  }
}

/** What callers can do with sends. */
export interface SendIntake {
  /**
   * Stores a send; it is relayed, or its end is told, from then on.
   * @param requestId of the request that asks for it: logs of the attempts name it
   * @throws {IdempotencyKeyReusedError | IdempotencyInProgressError}
   */
  accept(
    account: string,
    request: NewSend,
    idempotency?: IdempotencyKey,
    requestId?: string,
  ): Promise<Acceptance>;

  /**
   * Keeps an idempotency key for one request while its body is read, for {@link RESERVATION_MS}, or for so much longer.
   * A key that has a send already needs none.
   * @throws {IdempotencyInProgressError} if another request has it
   */
  reserve(account: string, key: string, owner: string): Promise<void>;

  /** Gives the key back, if it is still this owner's and has no send. */
  release(account: string, key: string, owner: string): Promise<void>;

  /**
   * The send that the idempotency key already has.
   * @throws {IdempotencyKeyReusedError | IdempotencyInProgressError}
   */
  recall(account: string, idempotency: IdempotencyKey): Promise<Acceptance | undefined>;

  find(account: string, id: string): Promise<Send | undefined>;

  /**
   * Ends a send that is not yet being relayed; undefined if there is no such send.
   * @throws {SendNotCancellableError}
   */
  cancel(account: string, id: string): Promise<Send | undefined>;

  /**
   * Settles a send that is `unknown`, or sends one out again that is `unknown` or `failed`: it is looked for once more,
   * and posted at the tail of its lane if it is not found. Undefined if there is no such send.
   * @throws {SendNotResolvableError}
   */
  resolve(account: string, id: string, outcome: ResolveOutcome): Promise<Send | undefined>;
}
