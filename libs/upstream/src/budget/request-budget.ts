/**
 * Class of a request. When tokens are scarce, they go first to the class that comes first in this list:
 *
 * 1. `send`: sends and their look-ups
 * 2. `read`: reads that API callers ask for
 * 3. `more`: further requests of a poll that has begun, and reads of the contact list
 * 4. `poll`: the first request of a poll
 * 5. `deep`: reads of older messages
 *
 * The classes `more`, `poll` and `deep` together always get at least a fifth of the tokens. While requests of `more`
 * or `poll` wait, `deep` gets only a small fraction of the number of tokens that `more` and `poll` get. The longer
 * the reads of older messages are delayed, the larger the fraction.
 */
export type RequestClass = 'send' | 'read' | 'poll' | 'more' | 'deep';

/**
 * How long a token is valid after it was requested, in milliseconds. A request that is written later needs
 * another token. The calculations in `token-bucket.lua` depend on this value.
 */
export const BUDGET_TOKEN_TTL_MS = 100;

/**
 * Maximum time between two attempts to take a token for a send or a read, in milliseconds. For at least 500 ms after
 * a failed attempt, the budget treats the request's class as waiting. The next attempt must come before these 500 ms
 * are over.
 */
export const MAX_BUDGET_TOKEN_RETRY_PAUSE_MS = 250;

/**
 * Maximum time between two attempts to take a token for a poll, in milliseconds. After a failed attempt, the class of
 * the request counts as waiting for some time: for twice the time until the next attempt that the budget returned, but
 * for at least 500 ms and at most twice this maximum.
 */
export const MAX_POLL_TOKEN_RETRY_PAUSE_MS = 1_500;

/** Thrown if the budget has no token for a request in time, or if the wait for the token was aborted. */
export class BudgetExhaustedError extends Error {
  constructor(readonly retryAfterMs: number) {
    super(`the budget of upstream requests is used up for another ${retryAfterMs} ms`);
    this.name = 'BudgetExhaustedError';
  }
}

/** A request budget that adapts to upstream's own rate limit. That limit is unknown and may change. */
export interface AdaptiveBudget extends RequestBudget {
  /**
   * Records a 429 answer: halves the account's budget for all processes. Several 429 answers in a short time
   * halve it only once.
   */
  shrink(account: string, rate: number): Promise<void>;

  /**
   * Records a successful answer. If 429 answers have reduced the account's budget, raises the budget by one step.
   * @param rate configured requests per second of the account; the budget is not raised above this rate
   */
  grow(account: string, rate: number): Promise<void>;
}

/** Result of one attempt to take a token from the budget. */
export interface TokenAttempt {
  /** 0 if the token was taken. Otherwise the time to wait before the next attempt, in milliseconds. */
  waitMs: number;
  /**
   * When the token was requested, by `performance.now()`. The token is valid for {@link BUDGET_TOKEN_TTL_MS} from
   * then on.
   */
  requestedAt: number;
}

/**
 * Shares each account's budget of upstream requests among all processes. If each request is written while its
 * token is valid, at most rate × t + max(rate, 1) requests of an account reach upstream in any t seconds.
 */
export interface RequestBudget {
  /**
   * Tries once to take a token. If the budget has no token, it counts this class of requests as waiting.
   * @param unused number of tokens that were taken earlier and are not needed; they are returned first
   */
  tryAcquire(account: string, rate: number, kind: RequestClass, unused?: number): Promise<TokenAttempt>;

  /**
   * Waits for a token. Resolves to the time at which the token was requested, by `performance.now()`.
   * @param patienceMs maximum wait, in milliseconds
   * @param unused number of tokens to return first, as for {@link tryAcquire}
   * @throws {BudgetExhaustedError} if there is no token within `patienceMs`
   */
  acquire(
    account: string,
    rate: number,
    kind: RequestClass,
    patienceMs: number,
    unused?: number,
  ): Promise<number>;

  /** Puts a token that a poll did not use back into the budget. */
  returnToken(account: string, rate: number): Promise<void>;
}

/** How an account's budget is used. All values are requests per second. */
export interface BudgetUsage {
  /**
   * Requests per second that the budget allows now. This is less than the configured rate after a 429 answer.
   * It is also less if the configured rate is below 1.25, because such a rate needs a safety margin.
   */
  allowed: number;
  /** Recent requests per second, as a moving average. The weight of a request halves every ten seconds. */
  used: number;
  /**
   * The part of {@link used} that leaves fewer tokens for the first requests of polls: all requests but these first
   * requests. A read of older messages is included only if a poll was waiting when the read took its token.
   */
  usedByOthers: number;
  /**
   * Requests per second available to polls: {@link allowed} less {@link usedByOthers}, but at least a fifth of
   * {@link allowed}.
   */
  availableForPolls: number;
}
