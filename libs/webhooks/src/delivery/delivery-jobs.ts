/** Wakes workers for endpoints that may have due deliveries. A wake-up that is lost only delays deliveries. */
export interface DeliveryJobs {
  /**
   * Makes a worker call `DeliveryRunner.work` for each endpoint after `delayMs` milliseconds (default 0). Several calls
   * for one endpoint may be merged into one.
   */
  wake(account: string, endpointIds: readonly string[], delayMs?: number): Promise<void>;

  /**
   * Wakes workers like {@link wake}, for endpoints whose due deliveries no worker has claimed yet. The caller repeats
   * the call until the deliveries are claimed. While many wake-up jobs wait, a call may therefore add none.
   */
  remind(account: string, endpointIds: readonly string[]): Promise<void>;
}
