import type { RedactedError } from '#platform';

/** Error of a request to upstream. The subclass says how the request failed. */
export abstract class UpstreamError extends Error implements RedactedError {
  protected constructor(name: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = name;
  }

  /** Error message for the log. It leaves out upstream's error text, which may quote a message. */
  get logMessage(): string {
    return this.message;
  }
}

/** No connection to upstream was established, so upstream did not receive the request. */
export class UpstreamUnreachableError extends UpstreamError {
  constructor(reason: string, options?: ErrorOptions) {
    super('UpstreamUnreachableError', `upstream cannot be reached: ${reason}`, options);
  }
}

/** Options of an error that ended an exchange before the whole reply was received. */
interface IncompleteReplyOptions extends ErrorOptions {
  /** True if the status was 2xx and a part of the body was received. If absent, false. */
  hasBegun?: boolean;
}

/** Upstream did not answer the request completely within the deadline. It may have processed the request. */
export class UpstreamTimeoutError extends UpstreamError {
  /** True if the status was 2xx and a part of the body was received. */
  readonly hasBegun: boolean;

  /** @param ms deadline, in milliseconds @param hint more information for the operator */
  constructor(ms: number, options?: IncompleteReplyOptions, hint?: string) {
    const words = hint === undefined ? '' : ` (${hint})`;
    super('UpstreamTimeoutError', `upstream did not answer within ${ms} ms${words}`, options);
    this.hasBegun = options?.hasBegun === true;
  }
}

/**
 * The connection to upstream broke before the whole reply was received. Upstream may have processed the
 * request.
 */
export class UpstreamConnectionLostError extends UpstreamError {
  /** True if the status was 2xx and a part of the body was received. */
  readonly hasBegun: boolean;

  constructor(reason: string, options?: IncompleteReplyOptions) {
    super('UpstreamConnectionLostError', `the connection to upstream broke: ${reason}`, options);
    this.hasBegun = options?.hasBegun === true;
  }
}

/** Upstream answered with a status other than 2xx. */
export class UpstreamStatusError extends UpstreamError {
  constructor(
    readonly status: number,
    /** Error message from upstream's reply, shortened. Empty if the reply has none. */
    readonly upstreamMessage: string,
    /** How long upstream asks to wait before a retry, in milliseconds. Undefined if upstream asks for no wait. */
    readonly retryAfterMs: number | undefined,
  ) {
    super(
      'UpstreamStatusError',
      `upstream answered ${status}${upstreamMessage === '' ? '' : `: ${upstreamMessage}`}`,
    );
  }

  override get logMessage(): string {
    return `upstream answered ${this.status}`;
  }
}

/**
 * The account's upstream address is wrong: it is the address of a Tidings gateway (this one or another), not of the
 * messaging service. With such an address, gateways could relay requests to each other endlessly.
 */
export class UpstreamIsTidingsError extends UpstreamError {
  /**
   * @param mayBeProcessed true if the Tidings gateway may have processed the request; false if the gateway rejected
   * the request
   */
  constructor(readonly mayBeProcessed: boolean) {
    super(
      'UpstreamIsTidingsError',
      'upstream is itself a Tidings gateway; the upstream address must be that of the messaging service',
    );
  }
}

/**
 * Upstream answered, but its reply cannot be used: it is not valid, is too large, or could not be stored for the time
 * in which it is read. Upstream may have processed the request.
 */
export class UpstreamReplyUnreadableError extends UpstreamError {
  constructor(reason: string, options?: ErrorOptions) {
    super('UpstreamReplyUnreadableError', `upstream's answer cannot be read: ${reason}`, options);
  }
}

/** Upstream's reply exceeds the maximum size. A smaller page of the same list may be readable. */
export class UpstreamReplyTooLargeError extends UpstreamReplyUnreadableError {
  constructor(max: number, unit: 'bytes' | 'elements' | 'lists' = 'bytes', options?: ErrorOptions) {
    super(unit === 'bytes' ? `it is larger than ${max} bytes` : `it has more than ${max} ${unit}`, options);
    this.name = 'UpstreamReplyTooLargeError';
  }
}

/**
 * Upstream's reply was not read completely, because it is large and this process was reading too many other large
 * replies. A process reads only a limited number of large replies at once, in total and per upstream. This reply
 * waited too long for its turn. A retry may succeed.
 */
export class TooManyLargeRepliesError extends UpstreamError {
  constructor() {
    super('TooManyLargeRepliesError', 'too many large replies of upstream are being read at once');
  }
}

/**
 * The request was certainly not sent, for example because it could not be written in time or because the upstream
 * address has changed.
 */
export class UpstreamRequestNotSentError extends UpstreamError {
  constructor(options?: ErrorOptions) {
    super('UpstreamRequestNotSentError', 'the request was not sent', options);
  }
}

/**
 * The request was not sent, because upstream is unavailable for this account: it is down, refuses the account, or is
 * a Tidings gateway.
 */
export class UpstreamUnavailableError extends UpstreamError {
  constructor(reason: string) {
    super('UpstreamUnavailableError', `requests to upstream are held: ${reason}`);
  }

  override get logMessage(): string {
    return 'requests to upstream are held';
  }
}

/** Returns true if upstream began a successful reply, and the rest of its body was not received in time. */
export function isIncompleteReplyError(error: unknown): boolean {
  return (
    (error instanceof UpstreamTimeoutError || error instanceof UpstreamConnectionLostError) && error.hasBegun
  );
}

/** Statuses with which upstream may answer a request for a page after the last one. */
const MISSING_PAGE_STATUSES: ReadonlySet<number> = new Set([404, 410, 416]);

/** Returns true if upstream answered that the requested page, or the contact whose page it is, does not exist. */
export function isMissingPageError(error: unknown): boolean {
  return error instanceof UpstreamStatusError && MISSING_PAGE_STATUSES.has(error.status);
}
