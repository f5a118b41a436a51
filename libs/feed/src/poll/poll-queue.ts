import type { ContactState } from '../snapshot/contact-state.js';

/** `head`: read of the pages with the newest messages. `deep`: read of older pages, page by page. */
export type PollKind = 'head' | 'deep';

/**
 * A contact that a worker has claimed for a read. The claim includes a budget token, which permits the first
 * upstream request of the read.
 */
export interface ClaimedPoll {
  kind: PollKind;
  contactId: string;
  /** How long the contact had been overdue when it was claimed, in milliseconds. */
  overdueMs: number;
  /** Number of consecutive failed reads of this kind (`head` or `deep`) of the contact before this read. */
  consecutiveFailures: number;
  /** Unique id that distinguishes the claim from all others. */
  lease: string;
  /** True if upstream had no outage at the time of the claim. */
  isUpstreamAvailable: boolean;
  /** State of the contact at the time of the claim. Absent for a deep read. */
  state?: ContactState;
}

/**
 * Time at which the account's next contact is due: `nextDueAt` in milliseconds since 1970 by Redis' clock,
 * `nextDueInMs` in milliseconds from now. Both fields are absent if no contact is scheduled. A claimed contact
 * counts as due at the end of its lease.
 */
export interface NextDueTime {
  nextDueAt?: number;
  nextDueInMs?: number;
}

export type ClaimReply =
  | (NextDueTime & {
      claimed: ClaimedPoll;
      /**
       * When the claim requested its budget token, by `performance.now()`. The token expires after
       * `BUDGET_TOKEN_TTL_MS`.
       */
      tokenRequestedAt: number;
      /** The part of the account's request budget that is available to polls, in requests per second. */
      availableForPolls: number;
    })
  /**
   * A contact is due, but the budget has no token for it yet. The caller should claim again after `waitMs`
   * milliseconds.
   */
  | { waitMs: number }
  /** No contact is due now. */
  | NextDueTime;

/**
 * Result of a claimed read.
 *
 * - `done`: the read ended without an error. Normally, its commit has scheduled the next read of the same kind
 *   (`head` or `deep`), if one is needed. If all commits of a read of the newest messages were refused, the contact
 *   is due at once.
 * - `failed`: the read failed, and the error does not concern the account as a whole. The backoff grows with each
 *   consecutive failure.
 * - `postponed`: the error concerns the account as a whole, for example an outage; or a read of the newest messages
 *   ended early without being aborted. The contact is due again after {@link POSTPONED_READ_DELAY_MS}.
 * - `aborted`: the read was aborted or received no budget token in time, or a deep read ended early. The contact is
 *   due at once.
 */
export type PollOutcome = 'done' | 'failed' | 'postponed' | 'aborted';

/**
 * Result of the end of a claim: when any contact of the account is due next, and when the claimed contact is due
 * again.
 */
export interface EndedClaim extends NextDueTime {
  /**
   * Time until the claimed contact is due again, in milliseconds. Absent if the end of the claim left the due time
   * unchanged, for example because a commit had already set it.
   */
  dueAgainInMs?: number;
}

/**
 * Queue of an account's due contacts. A claim includes the budget token for the first request. All due times
 * are by Redis' clock. While a contact has a lease for a kind of read (`head` or `deep`), the contact is not
 * claimed for this kind again, even if it becomes due.
 */
export interface PollQueue {
  /**
   * Claims the most urgent due contact if the budget has a token. Calls in the same turn of the event loop
   * are combined into one request to Redis.
   *
   * Reads of the newest messages go first. Reads of older messages get a guaranteed share of the requests: one
   * hundredth of what reads of the newest messages get. The share grows with the delay of the most urgent read of
   * older messages. It reaches one fifth after an hour, or after one sweep interval if that is shorter.
   * @param rate budget of the account, in requests per second
   */
  claim(account: string, rate: number): Promise<ClaimReply>;

  /**
   * Renews the leases of reads under way. A lease expires {@link POLL_LEASE_MS} after its claim or last
   * renewal. Renewals do not change due times that were set during the read.
   * @returns the claims that were lost, because another worker has claimed the contact
   */
  renew(account: string, claims: readonly ClaimedPoll[]): Promise<ClaimedPoll[]>;

  /** Ends a claim. Changes nothing if another worker has claimed the contact meanwhile. */
  end(account: string, claim: ClaimedPoll, outcome: PollOutcome): Promise<EndedClaim>;
}

/**
 * How long a lease lasts without renewal, in milliseconds. If a worker is killed, its claimed contacts are
 * due again after this time.
 */
export const POLL_LEASE_MS = 2_000;
/**
 * Time between two renewals of a lease, in milliseconds. It is short enough that a lease survives one failed
 * renewal.
 */
export const POLL_LEASE_RENEWAL_INTERVAL_MS = 700;

/**
 * Delay until a contact is due again after a failed read, in milliseconds. It starts at `first` and doubles
 * with each consecutive failure, up to `max`.
 */
export const FAILED_READ_BACKOFF_MS = { first: 2_000, max: 300_000 } as const;
/** Delay until a contact is due again after a read that ended with `postponed`, in milliseconds. */
export const POSTPONED_READ_DELAY_MS = 1_000;
