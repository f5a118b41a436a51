import type { PollState } from './poll-state.js';
import type { RebuildablePollState } from './rebuildable-poll-state.js';

/** The stored polling state of one contact. */
export interface ContactState {
  /**
   * Number that increases with every commit that changes the polling state of the contact. The result of a read is
   * not committed if the version changed after the read started.
   */
  version: number;
  /** When this state was read from Redis, in milliseconds since 1970 by Redis' clock. */
  now: number;
  /** When this process received this state, by `performance.now()`. */
  receivedAt: number;
  pollState: PollState;
  extension: RebuildablePollState;
  /** Number of polls of the contact that failed since the last commit of a poll or of a page of older messages. */
  failures: number;
  /**
   * Largest number of messages on one page, over all contacts of the account; 0 before the first page was
   * read.
   */
  longestPage: number;
  /**
   * The first read of the contact emits events for messages whose timestamp is later than this time (milliseconds
   * since 1970 by upstream's clock); see `FirstReadEventRule`. Absent once all pages of the contact have been read.
   */
  emitAfter?: number;
  /**
   * Number of open requests to poll the contact sooner. A request that is made during a poll takes effect
   * after that poll.
   */
  expediteRequests: number;
  /** Number of messages in the stored snapshot of the contact. */
  storedMessages: number;
  /**
   * False if the contact has no conversation row yet, because the contact was stored by an earlier build of Tidings,
   * which had no rows. Always true if conversation rows are not stored.
   */
  hasRow: boolean;
  /**
   * Id of the account's current event log. It changes if the log is lost and created again. Absent if the
   * account has no event log.
   */
  epoch?: string;
  /**
   * When an administrator last confirmed that missing contacts or messages of the account are really deleted,
   * in milliseconds since 1970 by Redis' clock.
   */
  deletionsConfirmedAt?: number;
  /**
   * When a read of the contact list first found so many contacts missing that an outage is likely, in
   * milliseconds since 1970 by Redis' clock. Absent if no outage is likely.
   */
  listSuspectSince?: number;
  /**
   * When a read last found so many contacts or messages of the account missing that an outage is likely, in
   * milliseconds since 1970 by Redis' clock.
   */
  suspectAt?: number;
  /**
   * When a poll of any contact of the account last returned a message, in milliseconds since 1970 by Redis'
   * clock.
   */
  messagesShownAt?: number;
  /** Number of known contacts of the account, including deleted contacts. */
  contacts: number;
  /** True if the contact's stored state was lost or is damaged. {@link pollState} is then empty. */
  lost: boolean;
  /**
   * Each new change of a message gets a revision above this number, because Redis may have lost changes with
   * lower revisions. If a revision were used twice, two events could have the same id. 0 if Redis never lost
   * data.
   */
  revisionFloor: number;
  /**
   * Id of the current run of Redis, which ends with a restart or failover. The result of a read is not committed
   * if the run changed after the read started.
   */
  redisRun: string;
}
