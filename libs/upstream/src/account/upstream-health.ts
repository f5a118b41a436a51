/**
 * Why an account's requests are held. `away`: upstream does not answer, or answers 5xx. `refused`: upstream rejects
 * this account. `loop`: the upstream is itself a Tidings gateway.
 */
export const OUTAGE_KINDS = ['away', 'refused', 'loop'] as const;
export type OutageKind = (typeof OUTAGE_KINDS)[number];

/** An outage of an account's upstream. */
export interface Outage {
  /** When the outage began, in milliseconds since 1970 by Redis' clock. */
  since: number;
  reason: string;
  kind: OutageKind;
}

/**
 * What the caller must do for an account now: probe its upstream, wake the work that waited for the end of an outage,
 * or nothing.
 */
export type ProbeTurn = 'probe' | 'recovered' | 'nothing';

/**
 * The health of each account's upstream, shared by all processes. An outage begins once and ends once, however many
 * processes notice it. Its begin emits `upstream.unavailable`; its end emits `upstream.recovered`.
 */
export interface UpstreamHealth {
  /** Resolves to the current outage, or undefined if there is none. */
  outage(account: string): Promise<Outage | undefined>;

  /** Records an outage. Resolves to true if it begins now. A current outage only takes the new reason. */
  recordOutage(account: string, kind: OutageKind, reason: string): Promise<boolean>;

  /** Records the end of this outage. Resolves to true if no other process recorded it before. */
  recordRecovery(account: string, outage: Outage): Promise<boolean>;

  /** Counts a 403 answer to a POST. Resolves to the number of consecutive ones, over all processes. */
  countForbidden(account: string): Promise<number>;

  /** Sets the count of consecutive 403 answers to zero. */
  resetForbidden(account: string): Promise<void>;

  /**
   * Decides whether the caller must probe. During an outage only one caller at a time probes, at growing intervals.
   * @param leaseMs time after which a probe without a result counts as lost, in milliseconds
   */
  takeProbeTurn(account: string, leaseMs: number): Promise<ProbeTurn>;

  /** Records a failed probe and lengthens the time until the next probe. */
  recordFailedProbe(account: string, kind: OutageKind, reason: string): Promise<void>;
}
