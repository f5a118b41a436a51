/** What all processes know of an account's upstream: since when it is down, and why. */
export interface UpstreamHealth {
  /** Notes that upstream answered; whether it was thought to be down. */
  well(account: string): Promise<boolean>;

  /** Notes that upstream did not answer, or not as it should; whether it was thought to be well. */
  down(account: string, reason: string): Promise<boolean>;

  /** What is wrong, and since when, in milliseconds since 1970 by Redis' clock; undefined if upstream is well. */
  trouble(account: string): Promise<{ since: number; reason: string } | undefined>;
}
