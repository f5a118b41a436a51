/**
 * Why no requests are sent for an account. `away`: upstream does not answer, or answers 5xx. `refused`:
 * upstream rejects this account. `loop`: upstream is itself a Tidings gateway.
 */
export const OUTAGE_KINDS = ['away', 'refused', 'loop'] as const;
export type OutageKind = (typeof OUTAGE_KINDS)[number];

/**
 * Requests other than those for the contact list, by what they are for. Probes read the contact list only, so an
 * outage that began with one of these requests may begin again right after a probe has ended it.
 */
export type UnprobedRequest = 'post' | 'messages';

/** An outage of an account's upstream. Until it ends, only probes are sent for the account. */
export interface Outage {
  /** When the outage began, in milliseconds since 1970 by Redis' clock. */
  since: number;
  reason: string;
  kind: OutageKind;
}

/**
 * What a caller of {@link UpstreamHealth.claimProbeTurn} must do for the account. `probe`: probe its upstream.
 * `recovered`: start the work that waited for the end of the outage. `nothing`: neither.
 */
export type ProbeTurn = 'probe' | 'recovered' | 'nothing';

/**
 * Records for all processes whether each account's upstream is available. If several processes notice the same
 * outage, it is recorded only once: its start emits one event `upstream.unavailable`, and its end one event
 * `upstream.recovered`.
 */
export interface UpstreamHealth {
  /** Resolves to the account's current outage, or to undefined if there is none. */
  outage(account: string): Promise<Outage | undefined>;

  /**
   * Records an outage. Resolves to true if the outage is new. If an outage is already recorded, replaces its
   * reason. Also replaces its kind, unless the new kind is `away`.
   *
   * An outage is a relapse if it begins soon after an outage that was of the kind `refused` or began with an
   * {@link UnprobedRequest}. If such a request has succeeded meanwhile, the outage is no relapse; see
   * {@link recordSuccess}. With each relapse in a row, the wait until the first probe is longer.
   * @param request what the last of the failed requests was for; absent for the contact list
   */
  recordOutage(
    account: string,
    kind: OutageKind,
    reason: string,
    request?: UnprobedRequest,
  ): Promise<boolean>;

  /**
   * Records that a request succeeded. A successful POST shows that the last outage is really over. A successful read
   * of messages shows this only if the outage did not begin with a POST. The next outage is then no relapse.
   * @param beganAt when the request began, by `performance.now()`; a request that began before this process last saw
   * the outage has no effect
   */
  recordSuccess(account: string, request: UnprobedRequest, beganAt: number): Promise<void>;

  /** Records the end of an outage. Resolves to false if the end of this outage was already recorded. */
  recordRecovery(account: string, outage: Outage): Promise<boolean>;

  /**
   * Counts a 403 answer to a POST. Resolves to the account's number of consecutive 403 answers to POSTs, over
   * all processes.
   */
  countForbidden(account: string): Promise<number>;

  /** Sets the account's number of consecutive 403 answers to POSTs to zero. */
  resetForbidden(account: string): Promise<void>;

  /**
   * Decides what the caller must do for an account now. During an outage, only one caller at a time probes upstream,
   * and the intervals between probes grow.
   * @param leaseMs time in milliseconds after which another caller may probe, if this probe has no result by
   * then
   */
  claimProbeTurn(account: string, leaseMs: number): Promise<ProbeTurn>;

  /** Gives back the turn of a caller that makes no probe after all. The next probe is due in `inMs` milliseconds. */
  returnProbeTurn(account: string, inMs: number): Promise<void>;

  /** Records a failed probe and lengthens the time until the next probe. */
  recordFailedProbe(account: string, kind: OutageKind, reason: string): Promise<void>;
}
