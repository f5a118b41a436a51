import type { NewSend, Send } from './send.js';

/** An idempotency key of a caller, with a digest of the request. */
export interface IdempotencyKey {
  key: string;
  /** Hexadecimal digest of the fields and file digests, independent of the request's encoding. */
  fingerprint: string;
  /** Owner of the key's reservation. If present, the send is stored only while the reservation holds. */
  owner?: string;
}

/** Lifetime of a reservation that is not renewed, in milliseconds. */
export const RESERVATION_MS = 10_000;

/** Another request with this idempotency key is still in progress. */
export class IdempotencyInProgressError extends Error {
  constructor() {
    super('Another request with this Idempotency-Key is in progress; retry later.');
    this.name = 'IdempotencyInProgressError';
  }
}

/** The result of an accepted request. */
export interface Acceptance {
  /** Id of the send. */
  id: string;
  /** True if the idempotency key already belongs to this send, so that nothing new was stored. */
  replayed: boolean;
}

/** The idempotency key already belongs to a send with another body. */
export class IdempotencyKeyReusedError extends Error {
  constructor() {
    super('This Idempotency-Key was already used with another body; use a new key for a new send.');
    this.name = 'IdempotencyKeyReusedError';
  }
}

/** The send is too far along to be cancelled. */
export class SendNotCancellableError extends Error {
  constructor(readonly status: Send['status']) {
    super(`The send is ${status}; only a scheduled or queued send can be cancelled.`);
    this.name = 'SendNotCancellableError';
  }
}

/** How an operator resolves an unknown or failed send. */
export type ResolveOutcome = 'resend' | 'sent' | 'failed';

export const RESOLVE_OUTCOMES = ['resend', 'sent', 'failed'] as const satisfies readonly ResolveOutcome[];

/** The send cannot be resolved with this outcome. */
export class SendNotResolvableError extends Error {
  constructor(reason: string) {
    super(reason);
    this.name = 'SendNotResolvableError';
  }
}

/** The operations on sends that callers can use. */
export interface SendIntake {
  /**
   * Stores a send. From then on the send is relayed, or an event reports its end.
   * @param requestId id of the HTTP request; the log lines of the send's attempts contain it
   * @throws {IdempotencyKeyReusedError | IdempotencyInProgressError}
   */
  accept(
    account: string,
    request: NewSend,
    idempotency?: IdempotencyKey,
    requestId?: string,
  ): Promise<Acceptance>;

  /**
   * Reserves an idempotency key for {@link RESERVATION_MS} while the request's body is read, or renews the reservation.
   * A key that already belongs to a send needs no reservation.
   * @throws {IdempotencyInProgressError} if another owner holds the key
   */
  reserve(account: string, key: string, owner: string): Promise<void>;

  /** Releases the key's reservation, if this owner still holds it. */
  release(account: string, key: string, owner: string): Promise<void>;

  /**
   * Returns the send that the idempotency key already belongs to, or undefined.
   * @throws {IdempotencyKeyReusedError | IdempotencyInProgressError}
   */
  recall(account: string, idempotency: IdempotencyKey): Promise<Acceptance | undefined>;

  find(account: string, id: string): Promise<Send | undefined>;

  /**
   * Cancels a scheduled or queued send. Returns undefined if the send was not found.
   * @throws {SendNotCancellableError}
   */
  cancel(account: string, id: string): Promise<Send | undefined>;

  /**
   * Resolves an unknown send, or resends an unknown or failed send. A resend joins the tail of its lane, and is posted
   * only if a search does not find the earlier message. Returns undefined if the send was not found.
   * @throws {SendNotResolvableError}
   */
  resolve(account: string, id: string, outcome: ResolveOutcome): Promise<Send | undefined>;
}
