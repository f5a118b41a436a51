/** Hints to workers that endpoints may have due deliveries. A lost hint only delays deliveries. */
export interface DeliveryJobs {
  /**
   * Makes a worker call `work` for each endpoint after `delayMs` milliseconds. Hints for one endpoint may be merged.
   */
  wake(account: string, endpointIds: readonly string[], delayMs?: number): Promise<void>;
}
