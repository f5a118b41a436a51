/**
 * Why an account's requests are held: `away`, upstream does not answer or answers with its own errors; `refused`, it does
 * not let this account in; `loop`, it is a Tidings gateway itself.
 */
export const OUTAGE_KINDS = ['away', 'refused', 'loop'] as const;
export type OutageKind = (typeof OUTAGE_KINDS)[number];

/** An outage of an account's upstream. */
export interface Outage {
  /** Milliseconds since 1970, by Redis' clock. */
  since: number;
  reason: string;
  kind: OutageKind;
}

/** What is to be done for an account now: probe its upstream, or wake what waited for the end of an outage. */
export type ProbeTurn = 'probe' | 'recovered' | 'nothing';

/**
 * What all processes know of an account's upstream. An outage begins once and ends once, however many notice, and each is
 * told: `upstream.unavailable`, `upstream.recovered`.
 */
export interface UpstreamHealth {
  /** The outage that lasts, if one does. */
  outage(account: string): Promise<Outage | undefined>;

  /** Notes an outage; whether it is news. One that lasts takes the latest reason. */
  down(account: string, kind: OutageKind, reason: string): Promise<boolean>;

  /** Notes the end of this outage; whether it is news. */
  well(account: string, outage: Outage): Promise<boolean>;

  /** Counts an answer 403 to a POST; how many came in a row by now, over all processes. */
  forbidden(account: string): Promise<number>;

  /** Ends that row. */
  notForbidden(account: string): Promise<void>;

  /**
   * Whose turn it is to probe: of all who ask during an outage, one at a time, at growing intervals.
   * @param leaseMs a probe that takes longer than this counts as lost
   */
  takeTurn(account: string, leaseMs: number): Promise<ProbeTurn>;

  /** The probe failed: the next one is further away. */
  probeFailed(account: string, kind: OutageKind, reason: string): Promise<void>;
}
