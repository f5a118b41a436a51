import type { Logger } from '#platform';
import type { MessagePage } from '#upstream';
import { isOutageMoreLikelyThanDeletions } from '../diff/absence.js';
import { DeepRead } from './deep-read.js';
import type { FeedSettings } from './feed-settings.js';
import type { FeedStore } from '../feed-store.js';
import type { ContactState } from '../snapshot/contact-state.js';
import { type HeadPlan, type HeadRead, firstPageLimitOf, readNewestMessages } from '../walk/head-walk.js';
import { mayFlagsStillChange, type KnownMessage } from '../snapshot/known-message.js';
import { DamagedSnapshotError } from '../packed-bytes.js';
import { DOCUMENTED_MAX_MESSAGES_PER_PAGE, replyTimeOf } from '../walk/page-reader.js';
import { doesFirstPageShowNewestMessages } from '../walk/page-order.js';
import { requestForLastPage } from '../walk/page-tail.js';
import { isSweepDue } from './sweep.js';
import { upstreamClockDifferenceMs } from './upstream-clock.js';
import { PollCommitter } from './poll-committer.js';
import { type PollStart, MESSAGES_REPLACED_REASON } from './poll-start.js';
import {
  hashAndJoinIds,
  hasPermanentlyUnreadableMessage,
  EMPTY_POLL_STATE,
  splitIdHashes,
} from '../snapshot/poll-state.js';
import type { FeedSource, LookupReads, RecordedMessages, ReadPurpose, SendBinder } from '../ports.js';
import type { PagesRead } from '../walk/pages-read.js';
import type { VolatileFieldStore } from '../form/volatile-fields.js';

/**
 * Maximum number of attempts to read and commit the newest messages of a contact. An attempt is repeated if
 * another read of the contact was committed first.
 */
const MAX_COMMIT_CONFLICTS = 3;

const DAMAGED_REASON = 'the stored snapshots of its messages are damaged';

/** Polls one contact: reads its messages and commits the changes together with their events. */
export class ContactPoller {
  private readonly committer: PollCommitter;

  constructor(
    private readonly store: FeedStore,
    private readonly source: FeedSource,
    binder: SendBinder,
    recordedMessages: RecordedMessages,
    private readonly settings: FeedSettings,
    logger: Logger,
    volatile?: VolatileFieldStore,
  ) {
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
    for (let race = 0; race < MAX_COMMIT_CONFLICTS; race += 1) {
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
        doesFirstPageShowNewestMessages(reading.order) ||
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
    const { account, contactId, state, lookup } = start;
    const expected = state.extension.unchangedPage;
    // The request below returns the messages only if the page has changed. So it is not made if the messages of an
    // unchanged page are needed, too: by a look-up, or to commit which of them belong to sends.
    if (lookup !== undefined || this.committer.hasUncommittedSends(start)) return undefined;
    if (expected === undefined || !isUnchangedIfPageIs(state, this.settings.sweepMs)) return undefined;
    const { digest } = expected;
    // The stored digest belongs to a page that was requested with the documented limit. A page with another
    // limit cannot be compared with this digest.
    const limit = firstPageLimitOf(planOf(start));
    if (limit !== DOCUMENTED_MAX_MESSAGES_PER_PAGE) return undefined;
    let page: MessagePage;
    try {
      page = await this.source.listMessages(account, contactId, 1, limit, purpose, digest);
    } catch (error) {
      return { limit, outcome: { error } };
    }
    if (page.isUnchanged !== true) return { limit, outcome: { page } };
    const read = typeof purpose === 'object' ? purpose : undefined;
    read?.setRenewal(false);
    const nextDue = await this.committer.commitUnchanged(start, replyTimeOf(page), read?.lease);
    if (nextDue === undefined) {
      read?.setRenewal(true);
      return 'refused';
    }
    if (read !== undefined) read.ended = nextDue;
    return 'committed';
  }

  /**
   * Reads older messages of a contact, if such a read is due. Reads either all pages, or only as many as
   * needed to find all messages with flags (`delivered`, `read`) that may still change.
   * @param signal aborts the read after the current page
   * @param lookup receives the messages that are read; present only during a look-up, which searches for the
   * messages of sends
   * @returns true if the read reached its end, or if no read of older messages was due
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
      await this.readAndCommit({ account, contactId, state, resync: DAMAGED_REASON }, purpose);
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
   * Reads and commits the newest messages. If the snapshot is lost or damaged, starts a new baseline, because
   * otherwise every later poll would fail too.
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
      return this.readAndCommit({ ...start, resync: DAMAGED_REASON }, purpose);
    }
  }

  private async readAndCommit(
    start: PollStart,
    purpose: ReadPurpose,
    firstPage?: FirstPage,
  ): Promise<HeadCommit> {
    let alreadyRead = firstPage;
    const { account, contactId, state, resync } = start;
    // The commit is refused if a snapshot has changed since it was read.
    const snapshots = new Map<string, KnownMessage>();
    const head = await readNewestMessages(
      {
        read: (page, limit) => {
          const given = alreadyRead;
          alreadyRead = undefined;
          if (given !== undefined && page === 1 && limit === given.limit) return pageOf(given);
          return this.source.listMessages(account, contactId, page, limit, purpose);
        },
        known: async (ids) => {
          if (resync !== undefined) return new Set();
          const known = await this.store.knownMessages(account, contactId, ids);
          for (const [id, message] of known) snapshots.set(id, message);
          return new Set(known.keys());
        },
      },
      planOf(start),
    );
    if (resync === undefined && head.metNoKnownMessage && (await this.isReplaced(start, head))) {
      const replaced = { ...start, resync: MESSAGES_REPLACED_REASON };
      const reading = readingOf(head, start, true);
      return { reading, isCommitted: await this.committer.commit(replaced, reading, new Map(), 'head') };
    }
    const known = await this.snapshotsOf(start, head, snapshots);
    const unsettledRead = this.showsAllUnsettled(start, head, known);
    const reading = {
      ...readingOf(head, start, isHeadDisturbed(state, head, known.served)),
      unsettledRead,
    };
    const isCommitted = await this.committer.commit(start, reading, known.all ?? known.served, 'head');
    return { reading, isCommitted };
  }

  /** @param snapshots snapshots of the messages that were read, as far as they are known */
  private async snapshotsOf(
    { account, contactId, state, resync }: PollStart,
    { served }: HeadRead,
    snapshots: ReadonlyMap<string, KnownMessage>,
  ): Promise<HeadSnapshots> {
    const { flagCheckDueAt } = state.pollState;
    if (resync !== undefined || flagCheckDueAt === undefined || flagCheckDueAt > state.now)
      return { served: snapshots };
    const ids = served.map(({ id }) => id);
    const all = await this.store.allKnownMessages(account, contactId);
    return {
      all,
      served: new Map(
        ids.flatMap((id) => (all.has(id) ? [[id, all.get(id)] as [string, KnownMessage]] : [])),
      ),
    };
  }

  /**
   * Returns true if a flag check was due and the read of the newest messages contained all messages whose flags
   * may still change.
   */
  private showsAllUnsettled(
    { state }: PollStart,
    { served, firstReply }: HeadRead,
    { all }: HeadSnapshots,
  ): boolean {
    if (all === undefined) return false;
    const upstreamNow = firstReply?.date ?? state.now;
    const shown = new Set(served.map(({ id }) => id));
    return [...all].every(
      ([id, known]) => shown.has(id) || !mayFlagsStillChange(known, upstreamNow, this.settings.settleMs),
    );
  }

  /**
   * Returns true if all messages that upstream returned are unknown, although many messages of the contact are
   * known.
   */
  private async isReplaced({ account, contactId }: PollStart, { served }: HeadRead): Promise<boolean> {
    if (served.length === 0) return false;
    const known = await this.store.allKnownMessages(account, contactId);
    const present = [...known.values()].filter(({ deleted }) => !deleted).length;
    // Messages without timestamps emit no events in a new baseline. So a list of such messages that has become much
    // shorter is not a new baseline: its messages were deleted, and the ones that it shows now are new.
    const areDated = served.some(({ timestamp }) => timestamp !== undefined);
    if (!areDated && served.length * 2 < present) return false;
    return isOutageMoreLikelyThanDeletions(present, present) && served.every(({ id }) => !known.has(id));
  }
}

/**
 * A read of the newest messages. `isCommitted` is false if the commit was refused, because another read of the
 * contact was committed meanwhile.
 */
interface HeadCommit {
  reading: PagesRead;
  isCommitted: boolean;
}

/**
 * Returns an object with the field `requestsPerSecond` if a worker claimed the contact; otherwise an empty
 * object.
 */
function budgetOf(purpose: ReadPurpose): Pick<PollStart, 'requestsPerSecond'> {
  return typeof purpose === 'object' ? { requestsPerSecond: purpose.availableForPolls } : {};
}

/** Outcome of a finished request for the first page: the page or an error. */
interface FirstPage {
  limit: number;
  outcome: { page: MessagePage } | { error: unknown };
}

/** Returns the first page that was read, or throws the error of its read. */
async function pageOf({ outcome }: FirstPage): Promise<MessagePage> {
  if ('page' in outcome) return Promise.resolve(outcome.page);
  throw outcome.error;
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

/**
 * Returns true if an unchanged first page is enough to conclude that no message has changed since the last
 * read. Returns false, for example, if the contact's state has changed since the last read, or if a deep read
 * is due.
 */
function isUnchangedIfPageIs(state: ContactState, sweepMs: number): boolean {
  const { version, now, pollState, extension, expediteRequests, emitAfter, hasRow } = state;
  const { completeDueAt, flagCheckDueAt, suspectSince, order } = pollState;
  return (
    extension.unchangedPage?.version === version &&
    lossReasonOf(state) === undefined &&
    emitAfter === undefined &&
    expediteRequests === 0 &&
    hasRow &&
    suspectSince === undefined &&
    // An unchanged first page of an oldest-first list says nothing about the newest messages.
    order !== 'oldestFirst' &&
    // Volatile fields, a reduced page limit or an unfinished resync need a comparison of all messages at each read.
    extension.volatile === undefined &&
    extension.headLimit === undefined &&
    extension.resyncing !== true &&
    !isSweepDue(pollState, extension, now, sweepMs) &&
    (completeDueAt === undefined || completeDueAt > now) &&
    (flagCheckDueAt === undefined || flagCheckDueAt > now)
  );
}

interface HeadSnapshots {
  /** Snapshots of the messages that were read, by message id. */
  served: ReadonlyMap<string, KnownMessage>;
  /** Snapshots of all known messages of the contact, by message id. Present only if a flag check is due. */
  all?: ReadonlyMap<string, KnownMessage>;
}

function planOf({ state, resync, lookup }: PollStart): HeadPlan {
  const { pollState, extension, now, failures, storedMessages, longestPage } = state;
  const { order, length, pageSize, limit } = resync === undefined ? pollState : EMPTY_POLL_STATE;
  const { headLimit, headLimitUntil = 0, hasMisplacedMessages = false } = extension;
  return {
    ...{ order, hasMisplacedMessages, length, pageSize, longestPage, failures },
    // A look-up decides whether a send is posted again, so it does not rely on an order that is not exact.
    ...(hasMisplacedMessages && lookup !== undefined ? { order: 'unsorted' } : {}),
    // Until all pages were read once, it is unknown which page of an oldest-first list is the last one. The order
    // is therefore set to `unknown`, so that the read begins at page 1 instead of at the last page.
    ...(pollState.completeAt === undefined && order === 'oldestFirst' ? { order: 'unknown' } : {}),
    known: resync === undefined ? storedMessages : 0,
    knowsMany: resync === undefined && isOutageMoreLikelyThanDeletions(storedMessages, storedMessages),
    isFirst: state.emitAfter !== undefined || resync !== undefined,
    hasPermanentlyUnreadableMessage: hasPermanentlyUnreadableMessage(pollState),
    ignoresLimit: extension.ignoresLimit === true,
    ...(limit === undefined ? {} : { limit }),
    ...(headLimit === undefined || headLimit >= DOCUMENTED_MAX_MESSAGES_PER_PAGE
      ? {}
      : headLimitUntil > now
        ? { headLimit }
        : { lastHeadLimit: headLimit }),
  };
}

function readingOf(head: HeadRead, { state }: PollStart, disturbed: boolean): PagesRead {
  const { served, order, length, pageSize, longestPage, limit, headLimit, skipped, unreadable } = head;
  const { firstReply } = head;
  return {
    ...{ served, order, head: head.head, length, pageSize, longestPage, skipped, unreadable },
    ...(limit === undefined ? {} : { limit }),
    ...(headLimit === undefined ? {} : { headLimit }),
    ...(firstReply === undefined ? {} : { date: firstReply.date }),
    upstreamAheadMs: upstreamClockDifferenceMs(firstReply, state),
    ...(head.onlyPage === undefined ? {} : { onlyPage: head.onlyPage }),
    ...(head.ignoresLimit ? { ignoresLimit: true } : {}),
    ...(head.hasMisplacedMessages ? { hasMisplacedMessages: true } : {}),
    ...{ detectsVolatility: true, unsettledRead: false },
    needsFullRead: disturbed || (!head.coversAllNew && state.emitAfter === undefined),
  };
}

/**
 * Returns true if messages at the head have disappeared or moved since the previous read of the newest
 * messages.
 */
function isHeadDisturbed(
  { pollState, extension, emitAfter }: ContactState,
  { shown, order, showsEnd }: HeadRead,
  known: ReadonlyMap<string, KnownMessage>,
): boolean {
  const isFullReadDueAnyway = emitAfter !== undefined;
  if (isFullReadDueAnyway) return false;
  const { head: before, length } = pollState;
  const now = hashAndJoinIds(shown.filter((id) => known.has(id)));
  const marks = new Set(splitIdHashes(now));
  const isMissing = splitIdHashes(before).some((mark) => !marks.has(mark));
  const isSortOrderChanged = order !== pollState.order;
  if (isSortOrderChanged) return pollState.order !== 'unknown' && (!showsEnd || isMissing);
  // An oldest-first list grows at its end. If the known messages at the end differ from those of the previous
  // read, messages have disappeared or moved.
  if (order === 'oldestFirst') {
    const { page, limit } = requestForLastPage(length, pollState.pageSize, extension.ignoresLimit === true);
    const wasRead = before !== '' || (page - 1) * limit >= length;
    return wasRead && now !== before;
  }
  if (order === 'unsorted' || (order === 'unknown' && showsEnd)) return isMissing;
  const beginsWithPreviousHead = now.startsWith(before);
  if (showsEnd) return !beginsWithPreviousHead;
  return !before.startsWith(now) && !beginsWithPreviousHead;
}

/** Returns the reason why the stored state of a contact is unusable; undefined if the state is usable. */
function lossReasonOf({ lost, pollState, storedMessages, epoch }: ContactState): string | undefined {
  if (lost) return 'the stored state of the contact was lost';
  if (pollState.count > 0 && storedMessages === 0) return 'the stored snapshots of its messages were lost';
  if (pollState.epoch !== undefined && pollState.epoch !== epoch) return 'the event log was lost';
  return undefined;
}
