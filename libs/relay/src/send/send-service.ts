import type { SendOrder } from './send-record.js';
import type { NewSend, Send } from './send.js';

/** A caller's idempotency key, with a hash of the caller's request. */
export interface IdempotencyKey {
  key: string;
  /**
   * Hexadecimal hash of the request's fields and files. It does not depend on whether the request was sent as JSON or
   * as a form.
   */
  fingerprint: string;
  /**
   * How long the idempotency key refers to its send, in milliseconds. After this time, the key can be used for
   * another send.
   */
  lifetimeMs: number;
  /**
   * Id of the HTTP request that reserved the idempotency key. If present, the send is stored only while the
   * reservation is valid.
   */
  owner?: string;
}

/** Lifetime of the reservation of an idempotency key, unless it is renewed, in milliseconds. */
export const IDEMPOTENCY_KEY_RESERVATION_MS = 10_000;

/**
 * Thrown if another request with the same idempotency key is still in progress, or if this request's reservation of
 * the key has expired, so that another request may have reserved it.
 */
export class IdempotentRequestInProgressError extends Error {
  constructor() {
    super('Another request with this Idempotency-Key is in progress; retry later.');
    this.name = 'IdempotentRequestInProgressError';
  }
}

/** Limits the unfinished sends (`scheduled`, `queued` or `relaying`) of a caller that is not fully trusted. */
export interface SendQuota {
  /** Identifies within the account whose sends are counted together. */
  holder: string;
  maxUnfinished: number;
}

/** Thrown if a caller has as many unfinished sends as its {@link SendQuota} allows. Nothing was stored. */
export class SendQuotaExceededError extends Error {
  constructor(readonly maxUnfinished: number) {
    super(`There are already ${maxUnfinished} unfinished sends, which is the limit.`);
    this.name = 'SendQuotaExceededError';
  }
}

/** The send that was stored for a request. */
export interface Acceptance {
  /** Id of the send. */
  id: string;
  /** True if an earlier request with the same idempotency key created this send. No new send was stored then. */
  replayed: boolean;
}

/** Thrown if the idempotency key was already used for a request with a different body. */
export class IdempotencyKeyReusedError extends Error {
  constructor() {
    super('This Idempotency-Key was already used with another body; use a new key for a new send.');
    this.name = 'IdempotencyKeyReusedError';
  }
}

/** Thrown if a send cannot be cancelled, because it is no longer scheduled or queued. */
export class SendNotCancellableError extends Error {
  constructor(readonly status: Send['status']) {
    super(`The send is ${status}; only a scheduled or queued send can be cancelled.`);
    this.name = 'SendNotCancellableError';
  }
}

/**
 * How an operator resolves a send. `resend`: post a send with the status `unknown` or `failed` again, unless a
 * look-up finds its message. `sent` or `failed`: record this as the outcome of a send with the status `unknown`.
 */
export type ResolveOutcome = 'resend' | 'sent' | 'failed';

/** All values of {@link ResolveOutcome}. */
export const RESOLVE_OUTCOMES = ['resend', 'sent', 'failed'] as const satisfies readonly ResolveOutcome[];

/** Thrown if a send cannot be resolved in the requested way. */
export class SendNotResolvableError extends Error {
  constructor(reason: string) {
    super(reason);
    this.name = 'SendNotResolvableError';
  }
}

/** The HTTP request that a send comes from. */
export type SendOrigin = Pick<SendOrder, 'requestId' | 'trace'>;

/** The operations on sends that the API offers to callers. */
export interface SendService {
  /**
   * Stores a send. A stored send is relayed to upstream, or an event reports why the send was not relayed.
   * @param origin the HTTP request that the send comes from, for log lines and traces
   * @throws {IdempotencyKeyReusedError | IdempotentRequestInProgressError | SendQuotaExceededError}
   */
  accept(
    account: string,
    request: NewSend,
    idempotency?: IdempotencyKey,
    origin?: SendOrigin,
    quota?: SendQuota,
  ): Promise<Acceptance>;

  /**
   * Reserves an idempotency key for {@link IDEMPOTENCY_KEY_RESERVATION_MS} while the request's body is read,
   * or renews the reservation. A key that already belongs to a send is not reserved.
   * @param owner id of the request
   * @throws {IdempotentRequestInProgressError} if another request has reserved the key
   */
  reserve(account: string, key: string, owner: string): Promise<void>;

  /** Releases the reservation of an idempotency key if `owner` still holds it. */
  release(account: string, key: string, owner: string): Promise<void>;

  /**
   * Returns the send that an earlier request with the same idempotency key created, or undefined if a new send can be
   * stored under the key.
   * @throws {IdempotencyKeyReusedError | IdempotentRequestInProgressError}
   */
  recall(account: string, idempotency: IdempotencyKey): Promise<Acceptance | undefined>;

  /** Returns a send, or undefined if the send does not exist. */
  find(account: string, id: string): Promise<Send | undefined>;

  /**
   * Cancels a scheduled or queued send. Returns undefined if the send was not found.
   * @throws {SendNotCancellableError}
   */
  cancel(account: string, id: string): Promise<Send | undefined>;

  /**
   * Records the outcome of a send with the status `unknown`, or posts a send with the status `unknown` or `failed`
   * again. A send that is posted again goes to the end of its recipient's queue. It is posted only if a look-up does
   * not find the message of the earlier POST. Returns undefined if the send was not found.
   * @throws {SendNotResolvableError}
   */
  resolve(account: string, id: string, outcome: ResolveOutcome): Promise<Send | undefined>;
}
