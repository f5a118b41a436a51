/** A part of each account's request budget that one kind of requests may use at most, over all processes. */
export interface RequestShare {
  /**
   * Waits for one request of the share. The request needs a token of the budget besides. Resolves to the time
   * that was waited, in milliseconds.
   * @param requestsPerSecond the share of the account
   * @param patienceMs maximum wait, in milliseconds
   * @throws {BudgetExhaustedError} if the share allows no request within `patienceMs`
   */
  acquire(account: string, requestsPerSecond: number, patienceMs: number): Promise<number>;
}
