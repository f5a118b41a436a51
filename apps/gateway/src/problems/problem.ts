import { PROBLEMS, type ProblemCode } from './problem-catalog.js';

/** When to try a store again that takes nothing, in milliseconds. */
const STORE_RETRY_MS = 2_000;

/** A field of the request that is at fault. */
export interface FieldFault {
  field: string;
  message: string;
}

/** What is said besides the code. */
export interface ProblemExtras {
  errors?: readonly FieldFault[];
  headers?: Readonly<Record<string, string>>;
  /** For the log; callers never see it. */
  cause?: unknown;
}

/** An error that is to be answered as it says. */
export class Problem extends Error {
  readonly errors: readonly FieldFault[];
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    readonly code: ProblemCode,
    /** What happened and what to do, for the caller. */
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

  /** The body of the reply, as JSON text. */
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

/** The problem of fields that are not as they must be. */
export function invalid(...errors: readonly FieldFault[]): Problem {
  const detail = errors.map(({ field, message }) => `${field} ${message}`).join('; ');
  return new Problem('validation_failed', `${detail}.`, { errors });
}

/** The problem of a store that takes nothing at the moment. */
export function unavailable(cause: unknown): Problem {
  return new Problem('unavailable', 'Nothing can be stored or read at the moment; try again shortly.', {
    headers: retryAfter(STORE_RETRY_MS),
    cause,
  });
}

/** The problem of something that is not there; another account's things are answered the same. */
export function notFound(what: string, id: string): Problem {
  return new Problem('not_found', `There is no ${what} ${id}.`);
}

/** `Retry-After` in whole seconds, at least one. */
export function retryAfter(ms: number): Record<string, string> {
  return { 'retry-after': String(Math.max(1, Math.ceil(ms / 1000))) };
}
