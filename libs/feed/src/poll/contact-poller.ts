import type { Logger } from '#platform';
import { DeepRead } from './deep-read.js';
import type { FeedSettings } from './feed-settings.js';
import type { FeedStore } from '../feed-store.js';
import type { ContactState } from '../snapshot/contact-state.js';
import { HeadReader } from './head-reader.js';
import { DamagedSnapshotError } from '../packed-bytes.js';
import { type FirstPage, replyTimeOf } from '../walk/page-requests.js';
import { doesFirstPageShowNewestMessages } from '../walk/page-order.js';
import { isSweepDue } from './sweep.js';
import { PollCommitter } from './poll-committer.js';
import { DAMAGED_SNAPSHOT_REASON, lossReasonOf, type PollStart } from './poll-start.js';
import { isUnchangedFirstPageEnough } from './unchanged-first-page.js';
import type { FeedSource, LookupReads, RecordedMessages, ReadPurpose, SendBinder } from '../ports.js';
import type { PagesRead } from '../walk/pages-read.js';
import type { VolatileFieldStore } from '../form/volatile-fields.js';

/**
 * Maximum number of attempts to read and commit the newest messages of a contact. An attempt is repeated if its
 * commit was refused, usually because another read of the contact was committed first.
 */
const MAX_READ_ATTEMPTS = 3;

/** Polls contacts: reads the messages of a contact and commits the changes together with their events. */
export class ContactPoller {
  private readonly committer: PollCommitter;
  private readonly heads: HeadReader;

  constructor(
    private readonly store: FeedStore,
    private readonly source: FeedSource,
    binder: SendBinder,
    recordedMessages: RecordedMessages,
    private readonly settings: FeedSettings,
    logger: Logger,
    volatile?: VolatileFieldStore,
  ) {
    this.heads = new HeadReader(store, source, settings);
    this.committer = new PollCommitter(store, binder, recordedMessages, settings, logger, volatile);
  }

  /**
   * Reads the newest messages of a contact. Also reads older messages of the contact, if such a read is due.
   * @returns true if this call or a concurrent one committed the newest messages; false if the contact is
   * unknown
   * @throws {UpstreamError} if a page could not be read; earlier pages stay committed
   */
  async poll(account: string, contactId: string, purpose: ReadPurpose = 'poll'): Promise<boolean> {
    if (!(await this.pollHead(account, contactId, purpose))) return false;
    await this.runDeepRead(account, contactId, purpose);
    return true;
  }

  /**
   * Reads the newest messages of a contact: the pages on which new messages appear.
   * @returns true if this call or a concurrent one committed the newest messages; false if the contact is
   * unknown
   * @throws {UpstreamError} if a page could not be read; nothing is committed then
   */
  async pollHead(account: string, contactId: string, purpose: ReadPurpose = 'poll'): Promise<boolean> {
    return (await this.readHeadUntilCommitted(account, contactId, purpose)) !== undefined;
  }

  /**
   * Reads all new messages of a contact. Reads the newest messages first. Then also reads older messages, if
   * older pages may contain more new messages.
   * @param lookup receives the messages that are read; present only during a look-up, which searches for the
   * messages of sends
   * @returns true if the reads were completed; false if the contact is unknown, or if the read of older
   * messages ended early
   * @throws {UpstreamError} if a page could not be read; earlier pages stay committed
   */
  async pollNewMessages(
    account: string,
    contactId: string,
    purpose: ReadPurpose,
    lookup?: LookupReads,
  ): Promise<boolean> {
    const read = await this.readHeadUntilCommitted(account, contactId, purpose, lookup);
    if (read === undefined || read === 'enough') return read !== undefined;
    const signal = typeof purpose === 'object' ? purpose.signal : undefined;
    return this.runDeepRead(account, contactId, purpose, signal, lookup);
  }

  /**
   * Reads and commits the newest messages. Returns `enough` if the pages that were read contain all new messages,
   * `in part` if older pages may contain more new messages, and undefined if the contact is unknown.
   */
  private async readHeadUntilCommitted(
    account: string,
    contactId: string,
    purpose: ReadPurpose,
    lookup?: LookupReads,
  ): Promise<'enough' | 'in part' | undefined> {
    let isEnough = true;
    for (let race = 0; race < MAX_READ_ATTEMPTS; race += 1) {
      const state = claimedState(purpose) ?? (await this.store.contactState(account, contactId));
      if (state === undefined) return undefined;
      const start: PollStart = {
        ...{ account, contactId, state, ...budgetOf(purpose) },
        ...(lookup === undefined ? {} : { lookup }),
      };
      const look = await this.readUnchanged(start, purpose);
      if (look === 'committed') return 'enough';
      if (look === 'refused') continue;
      const { isCommitted, reading } = await this.readOrResync(start, purpose, look);
      isEnough =
        (doesFirstPageShowNewestMessages(reading.order) && !mayLackMessages(start)) ||
        (!reading.needsFullRead && state.emitAfter === undefined);
      if (isCommitted) break;
    }
    return isEnough ? 'enough' : 'in part';
  }

  /**
   * Reads the first page, if it is likely to be the same as at the last read. If the page is the same, commits
   * that nothing has changed, without comparing any message. Returns whether that commit was accepted (`committed`)
   * or `refused`; a {@link FirstPage} if the page differs or could not be read; undefined if no page was requested.
   */
  private async readUnchanged(
    start: PollStart,
    purpose: ReadPurpose,
  ): Promise<'committed' | 'refused' | FirstPage | undefined> {
    const { state, lookup } = start;
    const expected = state.extension.unchangedPage;
    // The request below returns the messages only if the page has changed. The request is therefore skipped if
    // messages are needed even from an unchanged page: for a look-up, or to record which of the messages belong to
    // sends.
    if (lookup !== undefined || this.committer.hasUncommittedSends(start)) return undefined;
    if (expected === undefined || !isUnchangedFirstPageEnough(state, this.settings.sweepMs)) return undefined;
    const first = await this.heads.requestFirstPage(start, purpose, expected.digest);
    if (first === undefined || !('page' in first.outcome) || first.outcome.page.isUnchanged !== true)
      return first;
    const read = typeof purpose === 'object' ? purpose : undefined;
    if (read !== undefined) read.isLeaseRenewed = false;
    const replyTime = replyTimeOf(first.outcome.page);
    const nextDue = await this.committer.commitUnchanged(start, replyTime, read?.lease);
    if (read !== undefined) read.isLeaseRenewed = nextDue === undefined;
    if (nextDue === undefined) return 'refused';
    if (read !== undefined) read.ended = nextDue;
    return 'committed';
  }

  /**
   * Reads older messages of a contact, if such a read is due. Reads either all pages, or only as many as needed to
   * find all messages with flags (`delivered`, `read`) that may still change.
   * @param signal aborts the read after the current page; see `DeepTask.signal`
   * @param lookup receives the messages that are read; present only during a look-up, which searches for the messages
   * of sends
   * @returns true if the read was completed, or if no read of older messages was due; false if the read ended early,
   * for example because it was aborted or a stored snapshot is damaged
   * @throws {UpstreamError} if a page could not be read; earlier pages stay committed
   */
  async runDeepRead(
    account: string,
    contactId: string,
    purpose: ReadPurpose,
    signal?: AbortSignal,
    lookup?: LookupReads,
  ): Promise<boolean> {
    const state = await this.store.contactState(account, contactId);
    if (state === undefined || lossReasonOf(state) !== undefined) return true;
    const goal = this.goalOf(state);
    if (goal === undefined) return true;
    const { settleMs, pageRetriesMs = [] } = this.settings;
    const task = {
      ...{ account, contactId, purpose, goal },
      ...(signal === undefined ? {} : { signal }),
      ...(lookup === undefined ? {} : { lookup }),
    };
    const read = new DeepRead(
      this.store,
      this.source,
      this.committer,
      { settleMs, pageRetriesMs },
      task,
      state,
    );
    try {
      return await read.run();
    } catch (error) {
      if (!(error instanceof DamagedSnapshotError)) throw error;
      await this.readAndCommit({ account, contactId, state, resync: DAMAGED_SNAPSHOT_REASON }, purpose);
      return false;
    }
  }

  private goalOf(state: ContactState): 'everything' | 'unsettled' | undefined {
    if (this.isFullReadDue(state)) return 'everything';
    const { flagCheckDueAt } = state.pollState;
    return flagCheckDueAt !== undefined && flagCheckDueAt <= state.now ? 'unsettled' : undefined;
  }

  private isFullReadDue({ pollState, extension, now, emitAfter }: ContactState): boolean {
    if (emitAfter !== undefined) return true;
    if (pollState.completeDueAt !== undefined && pollState.completeDueAt <= now) return true;
    return isSweepDue(pollState, extension, now, this.settings.sweepMs);
  }

  /**
   * Reads and commits the newest messages. Starts a new baseline if stored state was lost (see {@link lossReasonOf})
   * or a stored snapshot is damaged. Without a new baseline, a damaged snapshot would make every later poll fail.
   */
  private async readOrResync(
    start: PollStart,
    purpose: ReadPurpose,
    firstPage: FirstPage | undefined,
  ): Promise<HeadCommit> {
    const resync = lossReasonOf(start.state);
    try {
      return await this.readAndCommit(
        { ...start, ...(resync === undefined ? {} : { resync }) },
        purpose,
        firstPage,
      );
    } catch (error) {
      if (!(error instanceof DamagedSnapshotError)) throw error;
      return this.readAndCommit({ ...start, resync: DAMAGED_SNAPSHOT_REASON }, purpose);
    }
  }

  private async readAndCommit(
    start: PollStart,
    purpose: ReadPurpose,
    firstPage?: FirstPage,
  ): Promise<HeadCommit> {
    const head = await this.heads.read(start, purpose, firstPage);
    const isCommitted = await this.committer.commit(head.start, head.reading, head.known, 'head');
    return { reading: head.reading, isCommitted };
  }
}

/** A read of the newest messages. `isCommitted` is false if the commit was refused; see `FeedStore.commitPoll`. */
interface HeadCommit {
  reading: PagesRead;
  isCommitted: boolean;
}

/**
 * Returns true during a look-up if an extra read of all pages is due. Such a read is due, for example, after a read
 * that left out a page that could not be read. Messages of sends may then be on later pages, although the first page
 * ends in a known message.
 */
function mayLackMessages({ lookup, state }: PollStart): boolean {
  return lookup !== undefined && (state.pollState.completeDueAt ?? Infinity) <= state.now;
}

/**
 * Returns an object with the field `requestsPerSecond` if a worker claimed the contact; otherwise an empty
 * object.
 */
function budgetOf(purpose: ReadPurpose): Pick<PollStart, 'requestsPerSecond'> {
  return typeof purpose === 'object' ? { requestsPerSecond: purpose.availableForPolls } : {};
}

/**
 * Returns the contact's state as read when the contact was claimed; undefined if the contact was not claimed.
 * Further calls with the same `purpose` return undefined too, because the state may have changed by then.
 */
function claimedState(purpose: ReadPurpose): ContactState | undefined {
  if (typeof purpose !== 'object') return undefined;
  const { state } = purpose;
  delete purpose.state;
  return state;
}
