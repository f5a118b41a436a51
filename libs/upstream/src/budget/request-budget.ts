/**
 * What a request is for, and so who goes first when tokens are scarce:
 *
 * 1. `send`: sends and their look-ups;
 * 2. `read`: callers' reads;
 * 3. the polls, which together always keep a fifth: `more`, a further request of a poll that has begun (and the contact
 *    list); then `poll`, the first request of a poll; then `deep`, a page of a read that goes through old messages. While
 *    others of them wait, deep reads get one token for every ten of theirs; while nobody else waits, all that polls get.
 */
export type RequestClass = 'send' | 'read' | 'poll' | 'more' | 'deep';

/**
 * A token is good for so long after it was asked for, in milliseconds: a request that is not written by then asks again.
 * See `token-bucket.lua` for the arithmetic that depends on it.
 */
export const TOKEN_LIFE_MS = 100;

/** Who waits for a token asks again at least this often, in milliseconds: the bucket takes its class for waiting. */
export const MAX_PAUSE_MS = 250;

/** No request of this class may leave before the deadline. */
export class BudgetExhaustedError extends Error {
  constructor(readonly retryAfterMs: number) {
    super(`the budget of upstream requests is used up for another ${retryAfterMs} ms`);
    this.name = 'BudgetExhaustedError';
  }
}

/** A budget that upstream's own limit shrinks: it is not known, and may change. */
export interface AdaptiveBudget extends RequestBudget {
  /** Upstream answered 429: from now on half as many leave, over all processes; a burst of such answers counts once. */
  tooMany(account: string, rate: number): Promise<void>;

  /** Upstream answered something else: by and by as many leave again as may, `rate`. */
  fine(account: string, rate: number): Promise<void>;
}

/** The answer to one question for a token. */
export interface TokenReply {
  /** 0 if the token was given, else when to ask again, in milliseconds. */
  waitMs: number;
  /** When it was asked for, by `performance.now()`: its {@link TOKEN_LIFE_MS} begin here. */
  askedAt: number;
}

/**
 * Shares one account's upstream requests a second among all processes: in any t seconds at most
 * rate × t + max(rate, 1) requests arrive upstream, if each is written while its token is good.
 */
export interface RequestBudget {
  /**
   * Asks once, and notes that this class waits if there is no token for it.
   * @param unused tokens that were taken before and will not be used; they go back first
   */
  ask(account: string, rate: number, kind: RequestClass, unused?: number): Promise<TokenReply>;

  /**
   * Waits for a token; when it was asked for, by `performance.now()`.
   * @param unused as for {@link ask}
   * @throws {BudgetExhaustedError} when there is none within `patienceMs`
   */
  acquire(
    account: string,
    rate: number,
    kind: RequestClass,
    patienceMs: number,
    unused?: number,
  ): Promise<number>;

  /** Gives back a poll's token that will not be used. */
  giveBack(account: string, rate: number): Promise<void>;
}

/** How an account's budget is used. All in requests a second. */
export interface BudgetUsage {
  /** What may leave now: the rate less the margin that very small rates need, or less where 429 shrank it. */
  allowed: number;
  /** What left lately: an average of which half is younger than ten seconds. */
  used: number;
  /** The part of {@link used} that was not for the first request of a poll, deep reads in idle time left out. */
  usedByOthers: number;
  /** What the planning of polls can count on: what the others leave, and at least a fifth of what is allowed. */
  availableForPolls: number;
}
