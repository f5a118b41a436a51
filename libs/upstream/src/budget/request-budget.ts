/**
 * What a request is for. The class decides which request goes first when tokens are scarce:
 *
 * 1. `send`: sends and their look-ups;
 * 2. `read`: callers' reads;
 * 3. polls, which together always get at least a fifth. `more`: a further request of a poll that has begun, or the
 * contact list. Then `poll`: the first request of a poll. Then `deep`: a page of a read of older messages. While
 * other requests of polls wait, reads of older messages get one token for every ten of theirs. Otherwise reads of
 * older messages get all tokens of polls.
 */
export type RequestClass = 'send' | 'read' | 'poll' | 'more' | 'deep';

/**
 * Time for which a token is valid after it was requested, in milliseconds. A request that is written later needs
 * another token. The arithmetic of `token-bucket.lua` depends on this value.
 */
export const TOKEN_TTL_MS = 100;

/**
 * Maximum time between two attempts to take a token, in milliseconds. The bucket counts a class as waiting for this
 * long.
 */
export const MAX_PAUSE_MS = 250;

/** The budget has no token for this class before the deadline. */
export class BudgetExhaustedError extends Error {
  constructor(readonly retryAfterMs: number) {
    super(`the budget of upstream requests is used up for another ${retryAfterMs} ms`);
    this.name = 'BudgetExhaustedError';
  }
}

/** A budget that adapts to upstream's own rate limit, which is unknown and may change. */
export interface AdaptiveBudget extends RequestBudget {
  /** Records a 429 answer: halves the budget for all processes. A burst of such answers counts once. */
  shrink(account: string, rate: number): Promise<void>;

  /** Records any other answer: a budget that was halved grows step by step back to `rate`. */
  grow(account: string, rate: number): Promise<void>;
}

/** Result of one attempt to take a token. */
export interface TokenAttempt {
  /** 0 if the token was taken; otherwise the time until the next attempt, in milliseconds. */
  waitMs: number;
  /** Time at which the token was requested, by `performance.now()`. {@link TOKEN_TTL_MS} starts then. */
  requestedAt: number;
}

/**
 * Shares one account's budget of upstream requests among all processes. In any t seconds at most rate × t + max(rate,
 * 1) requests reach upstream, if each is written while its token is valid.
 */
export interface RequestBudget {
  /**
   * Tries once to take a token. If there is none, the bucket counts this class as waiting.
   * @param unused number of tokens to return first: they were taken before and will not be used
   */
  tryAcquire(account: string, rate: number, kind: RequestClass, unused?: number): Promise<TokenAttempt>;

  /**
   * Waits for a token. Resolves to the time at which the token was requested, by `performance.now()`.
   * @param patienceMs maximum wait, in milliseconds
   * @param unused as for {@link tryAcquire}
   * @throws {BudgetExhaustedError} if there is no token within `patienceMs`
   */
  acquire(
    account: string,
    rate: number,
    kind: RequestClass,
    patienceMs: number,
    unused?: number,
  ): Promise<number>;

  /** Returns an unused token of a poll to the budget. */
  returnToken(account: string, rate: number): Promise<void>;
}

/** How an account's budget is used. All values are requests per second. */
export interface BudgetUsage {
  /** The current budget: the rate less the margin that very small rates need, or less after a 429. */
  allowed: number;
  /** Recent use: a moving average in which half of the weight is younger than ten seconds. */
  used: number;
  /**
   * The part of {@link used} that excludes the first requests of polls, and reads of older messages made while
   * nothing else waited.
   */
  usedByOthers: number;
  /** What polls can count on: the budget that other requests leave, but at least a fifth of {@link allowed}. */
  availableForPolls: number;
}
