import { PROBLEMS, type ProblemCode } from './problem-catalog.js';

/** Value of `Retry-After` while the store is unavailable, in milliseconds. */
const STORE_RETRY_MS = 2_000;

/** An invalid field or parameter of a request. `message` completes the sentence that begins with the field's name. */
export interface FieldFault {
  field: string;
  message: string;
}

/** Optional parts of a {@link Problem}. */
export interface ProblemExtras {
  errors?: readonly FieldFault[];
  headers?: Readonly<Record<string, string>>;
  /** Cause for the log. It is never part of the response. */
  cause?: unknown;
}

/** An error with its HTTP response. */
export class Problem extends Error {
  readonly errors: readonly FieldFault[];
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    readonly code: ProblemCode,
    /** Text for the caller: what happened, and what to do. */
    readonly detail: string,
    { errors = [], headers = {}, cause }: ProblemExtras = {},
  ) {
    super(detail, cause === undefined ? undefined : { cause });
    this.name = 'Problem';
    this.errors = errors;
    this.headers = headers;
  }

  get status(): number {
    return PROBLEMS[this.code].status;
  }

  /** Returns the response body as JSON text. */
  toJson(instance: string, requestId: string): string {
    const { status, title } = PROBLEMS[this.code];
    return JSON.stringify({
      type: `urn:tidings:problem:${this.code}`,
      title,
      status,
      detail: this.detail,
      instance,
      code: this.code,
      requestId,
      ...(this.errors.length === 0 ? {} : { errors: this.errors }),
    });
  }
}

/** Returns the problem of a request with invalid fields. */
export function invalid(...errors: readonly FieldFault[]): Problem {
  const detail = errors.map(({ field, message }) => `${field} ${message}`).join('; ');
  return new Problem('validation_failed', `${detail}.`, { errors });
}

/** Returns the problem of an unexpected error. */
export function internal(cause: unknown): Problem {
  const detail = 'An unexpected error occurred. The log of the gateway has details for this requestId.';
  return new Problem('internal', detail, { cause });
}

/** Returns the problem of a store (Redis or the blob store) that is unavailable. */
export function unavailable(cause: unknown): Problem {
  return new Problem('unavailable', 'The gateway cannot store or read data at the moment. Retry later.', {
    headers: retryAfter(STORE_RETRY_MS),
    cause,
  });
}

/** Returns the problem of an object that does not exist. Objects of other accounts get the same answer. */
export function notFound(what: string, id: string): Problem {
  return new Problem('not_found', `The ${what} ${id} was not found.`);
}

/** Returns a `Retry-After` header in whole seconds, at least 1. */
export function retryAfter(ms: number): Record<string, string> {
  return { 'retry-after': String(Math.max(1, Math.ceil(ms / 1000))) };
}
