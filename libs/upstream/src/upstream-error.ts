import type { DiscreetError } from '#platform';

/** A request to upstream did not end well. The class names the stage that it reached. */
export abstract class UpstreamError extends Error implements DiscreetError {
  protected constructor(name: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = name;
  }

  /** Without upstream's own words: they may quote a message's text. */
  get logWords(): string {
    return this.message;
  }
}

/** No connection came about: upstream surely has not seen the request. */
export class UpstreamUnreachableError extends UpstreamError {
  constructor(reason: string, options?: ErrorOptions) {
    super('UpstreamUnreachableError', `upstream cannot be reached: ${reason}`, options);
  }
}

/** The exchange was not over in time. Upstream may have acted on the request. */
export class UpstreamTimeoutError extends UpstreamError {
  /** @param hint what is known besides */
  constructor(ms: number, options?: ErrorOptions, hint?: string) {
    const words = hint === undefined ? '' : ` (${hint})`;
    super('UpstreamTimeoutError', `upstream did not answer within ${ms} ms${words}`, options);
  }
}

/** The connection broke in the middle. Upstream may have acted on the request. */
export class UpstreamConnectionLostError extends UpstreamError {
  constructor(reason: string, options?: ErrorOptions) {
    super('UpstreamConnectionLostError', `the connection to upstream broke: ${reason}`, options);
  }
}

/** Upstream answered with a status other than 2xx. */
export class UpstreamStatusError extends UpstreamError {
  constructor(
    readonly status: number,
    /** What upstream said, shortened. */
    readonly words: string,
    /** How long upstream asks to wait, in milliseconds. */
    readonly retryAfterMs: number | undefined,
  ) {
    super('UpstreamStatusError', `upstream answered ${status}${words === '' ? '' : `: ${words}`}`);
  }

  override get logWords(): string {
    return `upstream answered ${this.status}`;
  }
}

/** What answered is a Tidings gateway, this one or another: requests would go round in a circle. */
export class UpstreamIsGatewayError extends UpstreamError {
  /** @param mayBeTaken whether it may have acted on the request: it is not one that refuses those of gateways */
  constructor(readonly mayBeTaken: boolean) {
    super(
      'UpstreamIsGatewayError',
      'upstream is a Tidings gateway itself; its address must be that of the messaging service',
    );
  }
}

/** Upstream answered 2xx with something that cannot be read. It may have acted on the request. */
export class UpstreamReplyError extends UpstreamError {
  constructor(reason: string, options?: ErrorOptions) {
    super('UpstreamReplyError', `upstream's answer cannot be read: ${reason}`, options);
  }
}

/** Upstream's answer is larger than is ever read. A smaller part of the same list may be readable. */
export class UpstreamReplyTooLargeError extends UpstreamReplyError {
  constructor(max: number, unit: 'bytes' | 'elements' = 'bytes', options?: ErrorOptions) {
    super(unit === 'bytes' ? `it is larger than ${max} bytes` : `it has more than ${max} elements`, options);
    this.name = 'UpstreamReplyTooLargeError';
  }
}

/** Upstream's answer was not read: this process reads as many large ones at once as it may hold. Ask again later. */
export class UpstreamReplyDeferredError extends UpstreamError {
  constructor() {
    super('UpstreamReplyDeferredError', 'too many large answers of upstream are being read at once');
  }
}

/** The request was not made: its connection stood too late for it to begin in time. */
export class UpstreamTooLateError extends UpstreamError {
  constructor() {
    super('UpstreamTooLateError', 'the request could not begin in time');
  }
}

/** The request was not made: upstream is known to be away, or to let this account's requests in no more. */
export class UpstreamUnavailableError extends UpstreamError {
  constructor(reason: string, options?: ErrorOptions) {
    super('UpstreamUnavailableError', `upstream is not asked for now: ${reason}`, options);
  }

  override get logWords(): string {
    return 'upstream is not asked for now';
  }
}
