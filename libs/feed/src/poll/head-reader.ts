import { isOutageMoreLikelyThanDeletions } from '../diff/absence.js';
import type { FeedSettings } from './feed-settings.js';
import type { FeedStore } from '../feed-store.js';
import type { ContactState } from '../snapshot/contact-state.js';
import { type HeadPlan, firstPageLimitOf } from '../walk/head-plan.js';
import type { HeadWalk } from '../walk/head-walk.js';
import { readNewestMessages } from '../walk/newest-messages.js';
import { mayFlagsStillChange, type KnownMessage } from '../snapshot/known-message.js';
import { DOCUMENTED_MAX_MESSAGES_PER_PAGE } from '../walk/page-limits.js';
import type { PageReader } from '../walk/page-reader.js';
import type { ContactSource, FirstPage } from '../walk/page-requests.js';
import { requestForLastPage } from '../walk/page-tail.js';
import { upstreamClockDifferenceMs } from './upstream-clock.js';
import { type PollStart, MESSAGES_REPLACED_REASON } from './poll-start.js';
import {
  hashAndJoinIds,
  hasPermanentlyUnreadableMessage,
  EMPTY_POLL_STATE,
  splitIdHashes,
} from '../snapshot/poll-state.js';
import type { FeedSource, ReadPurpose } from '../ports.js';
import type { PagesRead } from '../walk/pages-read.js';

/** Result of a read of the newest messages, with the data that the commit needs. */
export interface HeadReading {
  /** The given start of the read, with the reason for a new baseline if upstream has replaced all messages. */
  start: PollStart;
  reading: PagesRead;
  /**
   * Snapshots by message id: at least those of the messages that were read. Empty if the commit starts a new
   * baseline.
   */
  known: ReadonlyMap<string, KnownMessage>;
}

/**
 * Reads the newest messages of a contact (the pages on which new messages appear), and the snapshots of these
 * messages. Commits nothing.
 */
export class HeadReader {
  constructor(
    private readonly store: FeedStore,
    private readonly source: FeedSource,
    private readonly settings: Pick<FeedSettings, 'settleMs'>,
  ) {}

  /**
   * Requests the first page, which is likely to be the same as at the last read. The result contains no messages if
   * the page has the given digest.
   * @param digest digest of the first page at the last read, which requested it with the documented limit
   * @returns the page, or the error of the request; undefined, without a request, if the first page must be requested
   * with another limit than the documented one, because such a page cannot be compared with the digest
   */
  async requestFirstPage(
    start: PollStart,
    purpose: ReadPurpose,
    digest: string,
  ): Promise<FirstPage | undefined> {
    const limit = firstPageLimitOf(planOf(start));
    if (limit !== DOCUMENTED_MAX_MESSAGES_PER_PAGE) return undefined;
    const { account, contactId } = start;
    try {
      const page = await this.source.listMessages(account, contactId, 1, limit, purpose, digest);
      return { limit, outcome: { page } };
    } catch (error) {
      return { limit, outcome: { error } };
    }
  }

  /**
   * Reads the newest messages and their snapshots.
   * @param firstPage the first page, if it was requested already
   * @throws {UpstreamError} if a page could not be read
   * @throws {DamagedSnapshotError} if a snapshot is damaged
   */
  async read(start: PollStart, purpose: ReadPurpose, firstPage?: FirstPage): Promise<HeadReading> {
    const { account, contactId, state, resync } = start;
    const contact: ContactSource = {
      ...{ account, contactId, purpose, upstream: this.source, firstPage },
      ...(resync === undefined ? { store: this.store } : {}),
    };
    const head = await readNewestMessages(contact, planOf(start));
    if (resync === undefined && head.metNoKnownMessage && (await this.isReplaced(start, head.pages))) {
      const replaced = { ...start, resync: MESSAGES_REPLACED_REASON };
      return { start: replaced, reading: readingOf(head, start, true), known: new Map() };
    }
    const known = await this.snapshotsOf(start, head.pages);
    const reading = {
      ...readingOf(head, start, isHeadDisturbed(state, head, known.served)),
      unsettledRead: this.showsAllUnsettled(start, head.pages, known),
    };
    return { start, reading, known: known.all ?? known.served };
  }

  private async snapshotsOf(
    { account, contactId, state, resync }: PollStart,
    { seen, snapshots }: PageReader,
  ): Promise<HeadSnapshots> {
    const { flagCheckDueAt } = state.pollState;
    if (resync !== undefined || flagCheckDueAt === undefined || flagCheckDueAt > state.now)
      return { served: snapshots };
    const all = await this.store.allKnownMessages(account, contactId);
    return { all, served: new Map([...all].filter(([id]) => seen.has(id))) };
  }

  /**
   * Returns true if a flag check was due and the read of the newest messages contained all messages whose flags
   * may still change.
   */
  private showsAllUnsettled(
    { state }: PollStart,
    { seen, requests }: PageReader,
    { all }: HeadSnapshots,
  ): boolean {
    if (all === undefined) return false;
    const upstreamNow = requests.firstReply?.date ?? state.now;
    return [...all].every(
      ([id, known]) => seen.has(id) || !mayFlagsStillChange(known, upstreamNow, this.settings.settleMs),
    );
  }

  /**
   * Returns true if upstream has probably replaced the messages of the contact: all messages that it returned are
   * unknown, although many messages of the contact are known.
   */
  private async isReplaced({ account, contactId }: PollStart, { seen }: PageReader): Promise<boolean> {
    if (seen.size === 0) return false;
    const known = await this.store.allKnownMessages(account, contactId);
    const present = [...known.values()].filter(({ deleted }) => !deleted).length;
    // If upstream now returns only messages without timestamps, and fewer than half as many as were known, the known
    // messages probably were deleted, and the returned messages are new. No new baseline starts, because in a new
    // baseline messages without timestamps emit no events.
    const areDated = [...seen.values()].some(({ timestamp }) => timestamp !== undefined);
    if (!areDated && seen.size * 2 < present) return false;
    return (
      isOutageMoreLikelyThanDeletions(present, present) && [...seen.keys()].every((id) => !known.has(id))
    );
  }
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
    // A look-up decides whether a send is posted again, so it does not rely on the order of a list with misplaced
    // messages.
    ...(hasMisplacedMessages && lookup !== undefined ? { order: 'unsorted' } : {}),
    // Until all pages were read once, it is unknown which page of an oldest-first list is the last one. The order
    // is therefore set to `unknown`, so that the read begins at page 1 instead of at the last page.
    ...(pollState.completeAt === undefined && order === 'oldestFirst' ? { order: 'unknown' } : {}),
    known: resync === undefined ? storedMessages : 0,
    knowsMany: resync === undefined && isOutageMoreLikelyThanDeletions(storedMessages, storedMessages),
    isFirst: state.emitAfter !== undefined || resync !== undefined,
    isLookup: lookup !== undefined,
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

function readingOf(walk: HeadWalk, { state }: PollStart, disturbed: boolean): PagesRead {
  const { order, head, length, limit, headLimit } = walk;
  const { pageSize, longestPage, skipped, onlyPage, requests } = walk.pages;
  const { firstReply } = requests;
  return {
    served: [...walk.pages.seen.values()],
    ...{ order, head, length, pageSize, longestPage, skipped, unreadable: [...walk.pages.unreadable] },
    ...(limit === undefined ? {} : { limit }),
    ...(headLimit === undefined ? {} : { headLimit }),
    ...(firstReply === undefined ? {} : { date: firstReply.date }),
    upstreamAheadMs: upstreamClockDifferenceMs(firstReply, state),
    ...(onlyPage === undefined ? {} : { onlyPage }),
    ...(walk.ignoresLimit ? { ignoresLimit: true } : {}),
    ...(walk.hasMisplacedMessages && order !== 'unsorted' ? { hasMisplacedMessages: true } : {}),
    ...{ detectsVolatility: true, unsettledRead: false },
    needsFullRead: disturbed || (!walk.coversAllNew && state.emitAfter === undefined),
  };
}

/**
 * Returns true if messages of the previous head have disappeared or moved since the previous read of the newest
 * messages. Returns false if a read of all pages is due anyway, because the contact's baseline is not complete.
 */
function isHeadDisturbed(
  { pollState, extension, emitAfter }: ContactState,
  { shown, order, showsEnd }: HeadWalk,
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
