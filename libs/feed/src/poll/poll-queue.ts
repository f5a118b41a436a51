/** `head`: the newest messages of a contact; `deep`: a read that goes through its old ones, page by page. */
export type PollKind = 'head' | 'deep';

/** A contact that was claimed, together with the token for its first request. */
export interface ClaimedPoll {
  kind: PollKind;
  contactId: string;
  /** How long it had been due, in milliseconds. */
  lateMs: number;
  /** How many reads of this kind failed in a row before this one. */
  failed: number;
  /** Tells this claim from all others. */
  lease: string;
}

/**
 * When the next contact is due, by Redis' clock and from now on in milliseconds, leases included. Absent: nobody is
 * scheduled.
 */
export interface NextDue {
  nextDueAt?: number;
  nextDueInMs?: number;
}

export type ClaimReply =
  | (NextDue & {
      claimed: ClaimedPoll;
      /** When its token was asked for, by `performance.now()`; see `TOKEN_LIFE_MS`. */
      tokenAskedAt: number;
      /** Requests a second that the planning of polls can count on. */
      availableForPolls: number;
    })
  /** Somebody is due, but there is no token yet: ask again after so many milliseconds. */
  | { waitMs: number }
  /** Nobody is due. */
  | NextDue;

/**
 * How a claimed read ended.
 *
 * - `done`: it was committed, which set when the contact is due again; a deep read that it did not ask for again is over.
 * - `failed`: counts as a failure of this contact; it is put off for longer the more came in a row.
 * - `later`: it could not be read, which says nothing about the contact; it is due again after a second.
 * - `back`: it was broken off; the contact is due at once.
 */
export type ReadEnd = 'done' | 'failed' | 'later' | 'back';

/** When the account's next contact is due after the end of a claim. */
export interface EndedClaim extends NextDue {
  /** When this contact is due again, in milliseconds, where it was not read. */
  dueAgainInMs?: number;
}

/**
 * Who is read next: the contacts of an account that are due, each with the token for its first request. All times are
 * Redis' own. Nobody who has a lease is claimed again, also if the contact becomes due meanwhile.
 */
export interface PollQueue {
  /**
   * The contact that is due most urgently, if there is a token for it; without a token nobody is claimed.
   *
   * A head goes before a deep read, except that deep reads are granted a part of what the other polls get: a hundredth, and
   * up to a fifth where the first of them is an hour late.
   * @param rate the account's budget in requests a second
   */
  claim(account: string, rate: number): Promise<ClaimReply>;

  /**
   * Keeps the leases of reads under way: without this a lease ends {@link POLL_LEASE_MS} after the claim. When a contact
   * is due is left as commits and hints set it. The claims among them that are not ours any more.
   */
  renew(account: string, claims: readonly ClaimedPoll[]): Promise<ClaimedPoll[]>;

  /** Ends a claim. One that is not ours any more is left to whoever has it. */
  end(account: string, claim: ClaimedPoll, how: ReadEnd): Promise<EndedClaim>;
}

/** A claim that is not renewed ends after so long, in milliseconds: a killed worker's contacts are due again then. */
export const POLL_LEASE_MS = 2_000;
/** How often a worker renews its claims, in milliseconds. One renewal that is lost or slow must not end them. */
export const POLL_RENEWAL_MS = 700;

/** Waits after a failure, in milliseconds: doubled with each one in a row, up to a bound. */
export const FAILED_BACKOFF_MS = { first: 2_000, max: 300_000 } as const;
/** When a contact is due again whose read ended with `later`, in milliseconds. */
export const LATER_MS = 1_000;
