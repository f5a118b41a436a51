/** Wakes workers for endpoints that may have due deliveries. A wake-up that is lost only delays deliveries. */
export interface DeliveryJobs {
  /**
   * Makes a worker call `DeliveryRunner.work` for each endpoint after `delayMs` milliseconds (default 0). Several calls
   * for one endpoint may be merged into one.
   */
  wake(account: string, endpointIds: readonly string[], delayMs?: number): Promise<void>;
}
