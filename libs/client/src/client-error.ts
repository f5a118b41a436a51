import type { FieldError, Problem } from './api-types.js';

/** Codes of the gateway's errors, for example `validation_failed`. */
export type ProblemCode = Problem['code'];

/** Thrown if the gateway answers a request with an error. */
export class TidingsError extends Error {
  /** Machine-readable error code. `unexpected` if the answer did not come from a Tidings gateway. */
  readonly code: ProblemCode | 'unexpected';
  /** HTTP status of the answer. */
  readonly status: number;
  /** Id of the request in the logs of the gateway, if the gateway sent one. */
  readonly requestId: string | undefined;
  /** The fields of the request that are at fault. */
  readonly fields: readonly FieldError[];
  /** Time that the gateway asks the client to wait before a retry, in milliseconds. */
  readonly retryAfterMs: number | undefined;
  /** Idempotency key of the send that failed; see {@link TidingsConnectionError.idempotencyKey}. */
  idempotencyKey?: string;
  /**
   * True if the gateway may have executed the request nevertheless: this attempt or an earlier one got no answer of the
   * gateway, a status from 500 on, or the code `idempotency_in_progress`.
   */
  mayHaveBeenExecuted = false;

  constructor(status: number, problem: Partial<Problem>, retryAfterMs: number | undefined) {
    super(problem.detail ?? problem.title ?? `The gateway answered with status ${status}.`);
    this.name = 'TidingsError';
    this.status = status;
    this.code = problem.code ?? 'unexpected';
    this.requestId = problem.requestId;
    this.fields = problem.errors ?? [];
    this.retryAfterMs = retryAfterMs;
  }
}

/**
 * Thrown if a request gets no answer: the gateway cannot be reached, or does not answer in time. `cause` says
 * why.
 */
export class TidingsConnectionError extends Error {
  /**
   * Idempotency key of the send that failed. The gateway may have stored the send nevertheless. If you repeat the call
   * with this key, the message is never sent twice. Undefined if the request was not a send.
   */
  idempotencyKey?: string;

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'TidingsConnectionError';
  }
}
