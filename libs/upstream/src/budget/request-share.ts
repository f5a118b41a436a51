/** Limits how much of each account's request budget one kind of requests may use, over all processes. */
export interface RequestShare {
  /**
   * Waits until the share allows one more request. The request also needs a token of the budget. Resolves to the
   * time that was waited, in milliseconds.
   * @param requestsPerSecond the account's share, in requests per second
   * @param patienceMs maximum wait, in milliseconds
   * @throws {BudgetExhaustedError} if the share allows no request within `patienceMs`
   */
  acquire(account: string, requestsPerSecond: number, patienceMs: number): Promise<number>;
}
