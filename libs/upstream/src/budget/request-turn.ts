import type { RequestClass } from './request-budget.js';

/** What a poll's requests are paid by. */
export interface RequestTurn {
  /** Requests that have no token yet wait for one of this class, without a deadline. */
  readonly kind: Extract<RequestClass, 'more' | 'deep'>;
  /** When the token was asked for that was taken for the next request already; that request removes it. */
  token?: number | undefined;
  /** Ends the wait for a token. */
  readonly signal?: AbortSignal | undefined;
}
