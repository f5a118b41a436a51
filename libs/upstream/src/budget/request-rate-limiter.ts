/** Limits how much of each account's request budget one kind of requests may use, over all processes. */
export interface RequestRateLimiter {
  /**
   * Waits until the account may make one more request of the limited kind, such as reads of timelines. The request
   * also needs a token of the budget. Resolves to the time that was waited, in milliseconds.
   * @param requestsPerSecond the account's limit for requests of the limited kind
   * @param patienceMs maximum wait, in milliseconds
   * @throws {BudgetExhaustedError} if the limit allows no request within `patienceMs`
   */
  acquire(account: string, requestsPerSecond: number, patienceMs: number): Promise<number>;
}
