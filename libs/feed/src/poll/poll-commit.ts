import type { RowUpdate } from '#conversations';
import type { NewEvent } from '#events';
import type { PollReport } from '../delay/poll-report.js';
import type { KnownMessage } from '../snapshot/known-message.js';
import type { PollState } from '../snapshot/poll-state.js';
import type { RebuildablePollState } from '../snapshot/rebuildable-poll-state.js';

/**
 * A poll that found the newest messages of a contact unchanged, as it is passed to
 * `FeedStore.commitUnchangedPoll`.
 */
export interface UnchangedPoll {
  /** Values of `ContactState.version` and `ContactState.redisRun` when the poll started. */
  version: number;
  redisRun: string;
  /** Id of the lease that ends with the commit. Absent if the contact was not claimed. */
  lease?: string;
  extension: RebuildablePollState;
  /**
   * Index of the bucket that counts this contact in the account's histogram of message rates; see
   * `RateHistogram`.
   */
  bucket: number;
  /** Time until the next poll of the contact, in milliseconds. */
  dueInMs: number;
  /** True if the poll returned at least one message. */
  showsMessages: boolean;
  report: PollReport;
}

/** The result of one poll of a contact, as it is passed to `FeedStore.commitPoll`. */
export interface PollCommit {
  /** Values of `ContactState.version` and `ContactState.redisRun` when the poll started. */
  version: number;
  redisRun: string;
  /** Value of `ContactState.expediteRequests` when the poll started. */
  expediteRequests: number;
  /** True if the commit deletes all stored message snapshots of the contact before it stores new ones. */
  deletesSnapshots: boolean;
  known: ReadonlyMap<string, KnownMessage>;
  events: readonly NewEvent[];
  /**
   * New polling state of the contact, from which its next poll is planned. Absent if the poll changed nothing
   * and there is no open request to poll the contact sooner. The version of the contact then stays the same,
   * so that other reads of the contact that are under way can still be committed.
   */
  pollState?: PollState;
  /** New value of `ContactState.extension`. Absent if the stored value stays. */
  extension?: RebuildablePollState;
  /**
   * Index of the bucket that counts this contact in the account's histogram of message rates. Present if
   * {@link dueInMs} is present.
   */
  bucket?: number;
  /**
   * Time until the newest messages of the contact are read again, in milliseconds. Absent if the scheduled
   * time stays the same.
   */
  dueInMs?: number;
  /**
   * How the commit changes the baseline of the contact. An object starts a new baseline, for example after stored
   * state was lost. Until the new baseline is complete, new messages that belong to no send emit events only if their
   * timestamp is later than `emitAfter` (milliseconds since 1970 by upstream's clock). `over` completes the baseline,
   * and `unchanged` leaves the baseline as it is.
   */
  baseline: { emitAfter: number } | 'unchanged' | 'over';
  /**
   * When older messages of the contact are read next: in `inMs` milliseconds. If `overwrites` is false, an earlier
   * scheduled time stays, and so does the time of a retry. `unchanged` leaves the schedule as it is, and `over`
   * means that no such read is needed.
   */
  deep: { inMs: number; overwrites: boolean } | 'unchanged' | 'over';
  /**
   * When the poll started, in milliseconds since 1970 by Redis' clock. Present only if the poll found so many
   * messages missing that an outage is likely.
   */
  suspectAt?: number;
  /**
   * When a read first found so many messages of this contact missing that an outage is likely, in milliseconds since
   * 1970 by Redis' clock. `over` if no outage is likely, but one was likely before the poll or the commit deletes all
   * snapshots. Otherwise undefined.
   */
  suspicion?: number | 'over' | undefined;
  /**
   * When the poll started, in milliseconds since 1970 by Redis' clock. Present only if upstream returned at
   * least one message.
   */
  messagesShownAt?: number;
  /** New value of `ContactState.longestPage`. Present only if the poll returned a longer page. */
  longestPage?: number;
  /** Number of unreadable elements that this poll found for the first time. */
  unreadable: number;
  /** The contact's own phone numbers or mail addresses, taken from the new and reappeared messages of this poll. */
  numbers: readonly string[];
  /** Changes of the contact's conversation row. */
  row: RowUpdate;
  /** Measurements of the poll, which are added to the account's statistics. */
  report: PollReport;
}

/** A poll that was committed. */
export interface CommittedPoll {
  /**
   * Detection delays of the new messages whose events this commit emitted, in milliseconds: the time from a message's
   * timestamp to the commit, corrected for the difference between upstream's clock and Redis' clock. If the timestamp
   * cannot be used, the estimated time of arrival replaces it. Delays that are unknown or longer than a day are left
   * out.
   */
  delaysMs: readonly number[];
}
