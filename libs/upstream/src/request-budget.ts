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

/** Shares one account's upstream requests a second among all processes. */
export interface RequestBudget {
  /**
   * Resolves when one request may leave. In any t seconds at most rate × (t + 1) requests do.
   * @throws {BudgetExhaustedError} when none may within `patienceMs`
   */
  acquire(account: string, rate: number, kind: RequestClass, patienceMs: number): Promise<void>;
}
