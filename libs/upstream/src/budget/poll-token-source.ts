import type { RequestClass } from './request-budget.js';

/** Where a poll's requests get their tokens from. */
export interface PollTokenSource {
  /** Class in which requests wait for a token, without a limit. */
  readonly kind: Extract<RequestClass, 'more' | 'deep'>;
  /** When the token of the next request was asked for, if that token was already taken. The next request removes it. */
  tokenRequestedAt?: number | undefined;
  /** Ends the wait for a token. */
  readonly signal?: AbortSignal | undefined;
}
