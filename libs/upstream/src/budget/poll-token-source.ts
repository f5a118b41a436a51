import type { RequestClass } from './request-budget.js';

/** Source of the tokens for a poll's requests. */
export interface PollTokenSource {
  /** Class in which requests wait for a token, without a limit. */
  readonly kind: Extract<RequestClass, 'more' | 'deep'>;
  /** Time at which the token of the next request was requested, if that token was already taken. The next request removes it. */
  tokenRequestedAt?: number | undefined;
  /** Ends the wait for a token. */
  readonly signal?: AbortSignal | undefined;
}
