/** Hints to the workers that endpoints may have something due. Losing one delays, and loses nothing else. */
export interface DeliveryJobs {
  /** Some worker calls `work` for each of the endpoints, once `delayMs` have passed; hints for the same may merge. */
  wake(account: string, endpointIds: readonly string[], delayMs?: number): Promise<void>;
}
