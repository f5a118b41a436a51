import type { RequestClass } from './request-budget.js';

/** Says how the requests of a poll get their tokens from the request budget. */
export interface PollTokenSource {
  /** Request class in which the poll's requests wait for a token. The wait has no time limit. */
  readonly kind: Extract<RequestClass, 'more' | 'deep'>;
  /** When the poll's unused token was requested, by `performance.now()`. Absent if the poll has no unused token. */
  tokenRequestedAt?: number | undefined;
  /**
   * True if upstream had no outage when the token of the poll's first request was taken. If absent or false, each
   * request checks for an outage.
   */
  readonly isUpstreamAvailable?: boolean;
  /** When this signal aborts, the poll stops waiting for a token. */
  readonly signal?: AbortSignal | undefined;
}
