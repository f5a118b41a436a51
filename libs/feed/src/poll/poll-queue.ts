/** `head`: read of the pages with the newest messages. `deep`: read of older pages, page by page. */
export type PollKind = 'head' | 'deep';

/** A claimed contact. The claim includes the budget token for the first request. */
export interface ClaimedPoll {
  kind: PollKind;
  contactId: string;
  /** Time that the contact had been overdue, in milliseconds. */
  overdueMs: number;
  /** Number of consecutive failed reads of this kind before this read. */
  consecutiveFailures: number;
  /** Unique id that distinguishes the claim from all others. */
  lease: string;
}

/**
 * Time at which the account's next contact is due, leases included: by Redis' clock, and from now on, in
 * milliseconds. Absent if no contact is scheduled.
 */
export interface NextDue {
  nextDueAt?: number;
  nextDueInMs?: number;
}

export type ClaimReply =
  | (NextDue & {
      claimed: ClaimedPoll;
      /** Time at which the token was requested, by `performance.now()`; see `TOKEN_TTL_MS`. */
      tokenRequestedAt: number;
      /** Share of the request budget that polls can rely on, in requests per second. */
      availableForPolls: number;
    })
  /** A contact is due, but no token is available yet: claim again after `waitMs` milliseconds. */
  | { waitMs: number }
  /** No contact is due. */
  | NextDue;

/**
 * Result of a claimed read.
 *
 * - `done`: the read was committed, and the commit set the next due time. A read of older messages without a
 * next due time is over.
 * - `failed`: the read failed because of this contact. The backoff grows with each consecutive failure.
 * - `postponed`: the read failed for a reason outside the contact. The contact is due again after {@link
 * POSTPONED_READ_DELAY_MS}.
 * - `aborted`: the read was aborted. The contact is due at once.
 */
export type PollOutcome = 'done' | 'failed' | 'postponed' | 'aborted';

/** When this contact and the account's next contact are due after the end of a claim. */
export interface EndedClaim extends NextDue {
  /** Time until this contact is due again, in milliseconds; present if the contact was not read. */
  dueAgainInMs?: number;
}

/**
 * Queue of an account's due contacts. A claim includes the budget token for the first request. All times are by
 * Redis' clock. A contact with a lease is not claimed again, even if the contact becomes due meanwhile.
 */
export interface PollQueue {
  /**
   * Claims the most urgent due contact if a budget token is available.
   *
   * Reads of the newest messages go before reads of older messages, but reads of older messages get a
   * guaranteed share of what reads of the newest messages get: one hundredth, rising to one fifth when the
   * first read of older messages is an hour overdue.
   * @param rate budget of the account, in requests per second
   */
  claim(account: string, rate: number): Promise<ClaimReply>;

  /**
   * Renews the leases of reads under way. A lease that is not renewed expires {@link POLL_LEASE_MS} after the
   * claim. Due times do not change.
   * @returns the claims whose lease was lost
   */
  renew(account: string, claims: readonly ClaimedPoll[]): Promise<ClaimedPoll[]>;

  /** Ends a claim. A claim whose lease was lost is left to its new holder. */
  end(account: string, claim: ClaimedPoll, outcome: PollOutcome): Promise<EndedClaim>;
}

/**
 * Duration of a lease without renewal, in milliseconds. After this time, contacts of a killed worker are due
 * again.
 */
export const POLL_LEASE_MS = 2_000;
/**
 * Time between two renewals of a lease, in milliseconds. Short enough that one lost renewal does not end the
 * lease.
 */
export const POLL_LEASE_RENEWAL_MS = 700;

/**
 * Backoff after a failed read, in milliseconds: starts at `first`, doubles with each consecutive failure, up to
 * `max`.
 */
export const FAILED_READ_BACKOFF_MS = { first: 2_000, max: 300_000 } as const;
/** Delay until a contact is due again after a read that ended with `postponed`, in milliseconds. */
export const POSTPONED_READ_DELAY_MS = 1_000;
