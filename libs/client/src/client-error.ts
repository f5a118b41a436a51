import type { FieldError, Problem } from './api-types.js';

/** Codes of the gateway's errors, for example `validation_failed`. */
export type ProblemCode = Problem['code'];

/** Thrown if the gateway answers a request with an error. */
export class TidingsError extends Error {
  /**
   * Machine-readable error code. The code is `unexpected` if the answer contains no error code, for example because
   * it came from a proxy.
   */
  readonly code: ProblemCode | 'unexpected';
  /** HTTP status of the answer. */
  readonly status: number;
  /** Id of the request in the logs of the gateway. Undefined if the answer contains no id. */
  readonly requestId: string | undefined;
  /** The invalid fields of the request, each with the reason. Empty if the error is not about individual fields. */
  readonly fields: readonly FieldError[];
  /**
   * Time that the gateway asks the client to wait before a retry, in milliseconds. Undefined if the answer does not
   * say this time in a header `Retry-After`.
   */
  readonly retryAfterMs: number | undefined;
  /** Idempotency key of the send that failed; see {@link TidingsConnectionError.idempotencyKey}. */
  idempotencyKey?: string;
  /**
   * True if the gateway may have executed the request although the call failed. This is the case if at least one
   * attempt of the call got no answer from the gateway itself, or got an answer with a status of 500 or above or with
   * the code `idempotency_in_progress`.
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
 * Thrown if a request gets no usable answer: the gateway cannot be reached, does not answer in time, or its answer is
 * incomplete or unreadable. Also thrown if another service has answered instead of the gateway, or if `Tidings.send`
 * is aborted. The message says why; `cause` is the underlying error, if there is one.
 */
export class TidingsConnectionError extends Error {
  /**
   * Idempotency key of the send that failed. The gateway may have stored the send nevertheless. If you repeat the
   * call with this key, the message is not sent twice while the gateway keeps the key (`EVENT_RETENTION_HOURS`, at
   * least 24 hours). Undefined if the request was not a send.
   */
  idempotencyKey?: string;

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'TidingsConnectionError';
  }
}
