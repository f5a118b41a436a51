import type { RedactedError } from '#platform';

/** A request to upstream failed. The subclass says at which stage. */
export abstract class UpstreamError extends Error implements RedactedError {
  protected constructor(name: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = name;
  }

  /** Error message for the log. It leaves out upstream's own words, which may quote a message. */
  get logMessage(): string {
    return this.message;
  }
}

/** No connection was established: upstream did not receive the request. */
export class UpstreamUnreachableError extends UpstreamError {
  constructor(reason: string, options?: ErrorOptions) {
    super('UpstreamUnreachableError', `upstream cannot be reached: ${reason}`, options);
  }
}

/** The exchange did not end within the deadline. Upstream may have processed the request. */
export class UpstreamTimeoutError extends UpstreamError {
  /** @param hint further facts for the operator */
  constructor(ms: number, options?: ErrorOptions, hint?: string) {
    const words = hint === undefined ? '' : ` (${hint})`;
    super('UpstreamTimeoutError', `upstream did not answer within ${ms} ms${words}`, options);
  }
}

/** The connection broke during the exchange. Upstream may have processed the request. */
export class UpstreamConnectionLostError extends UpstreamError {
  constructor(reason: string, options?: ErrorOptions) {
    super('UpstreamConnectionLostError', `the connection to upstream broke: ${reason}`, options);
  }
}

/** Upstream answered with a status other than 2xx. */
export class UpstreamStatusError extends UpstreamError {
  constructor(
    readonly status: number,
    /** Upstream's error message, shortened. */
    readonly upstreamMessage: string,
    /** Time that upstream asks to wait, in milliseconds. */
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

/** The server that answered is a Tidings gateway, this one or another: requests would go round in a circle. */
export class UpstreamIsGatewayError extends UpstreamError {
  /** @param mayBeProcessed true if the gateway may have processed the request; false if it rejects requests of gateways */
  constructor(readonly mayBeProcessed: boolean) {
    super(
      'UpstreamIsGatewayError',
      'upstream is a Tidings gateway itself; its address must be that of the messaging service',
    );
  }
}

/** Upstream answered 2xx with an unreadable body. Upstream may have processed the request. */
export class UpstreamReplyError extends UpstreamError {
  constructor(reason: string, options?: ErrorOptions) {
    super('UpstreamReplyError', `upstream's answer cannot be read: ${reason}`, options);
  }
}

/** Upstream's reply exceeds the maximum size. A smaller part of the same list may be readable. */
export class UpstreamReplyTooLargeError extends UpstreamReplyError {
  constructor(max: number, unit: 'bytes' | 'elements' = 'bytes', options?: ErrorOptions) {
    super(unit === 'bytes' ? `it is larger than ${max} bytes` : `it has more than ${max} elements`, options);
    this.name = 'UpstreamReplyTooLargeError';
  }
}

/**
 * Upstream's reply was not read, because this process already reads the maximum number of large replies. Retry later.
 */
export class UpstreamReplyDeferredError extends UpstreamError {
  constructor() {
    super('UpstreamReplyDeferredError', 'too many large replies of upstream are being read at once');
  }
}

/** The request was not sent, because its connection was established too late. */
export class UpstreamTooLateError extends UpstreamError {
  constructor() {
    super('UpstreamTooLateError', 'the request could not begin in time');
  }
}

/** The request was not sent, because upstream is in an outage or refuses this account. */
export class UpstreamUnavailableError extends UpstreamError {
  constructor(reason: string, options?: ErrorOptions) {
    super('UpstreamUnavailableError', `requests to upstream are held: ${reason}`, options);
  }

  override get logMessage(): string {
    return 'requests to upstream are held';
  }
}
