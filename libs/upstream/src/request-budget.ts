/**
 * What a request is for. Sends and their look-ups go first, then callers' reads, then polls, which always keep a fifth.
 */
export type RequestClass = 'send' | 'read' | 'poll';

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

/** Shares one account's upstream requests a second among all processes. */
export interface RequestBudget {
  /**
   * Resolves when one request may leave. In any t seconds at most rate × (t + 1) requests do.
   * @throws {BudgetExhaustedError} when none may within `patienceMs`
   */
  acquire(account: string, rate: number, kind: RequestClass, patienceMs: number): Promise<void>;
}
