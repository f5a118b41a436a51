import type { Logger } from '#platform';
import { suggestsOutage } from '../diff/absence.js';
import { DeepRead } from './deep-read.js';
import type { FeedSettings } from './feed-settings.js';
import type { ContactState, FeedStore } from '../feed-store.js';
import { type HeadPlan, type HeadRead, readNewestMessages } from '../walk/head-walk.js';
import { mayFlagsStillChange, type KnownMessage } from '../snapshot/known-message.js';
import { DamagedSnapshotError } from '../packed-bytes.js';
import { PAGE_LIMIT } from '../walk/page-reader.js';
import { doesFirstPageShowAllNewMessages } from '../walk/page-order.js';
import { lastPageOf } from '../walk/page-tail.js';
import { PollCommitter, type PollStart } from './poll-committer.js';
import { hashIds, EMPTY_POLL_MEMORY, splitIdHashes } from '../snapshot/poll-memory.js';
import type { FeedSource, RecordedMessages, ReadPurpose, SendBinder } from '../ports.js';
import type { PagesRead } from '../walk/pages-read.js';
import type { VolatileFieldStore } from '../form/volatile-fields.js';

/** Maximum number of consecutive commits refused because another read of the contact was committed first. */
const MAX_COMMIT_CONFLICTS = 3;

const DAMAGED_REASON = 'the stored snapshots of its messages are damaged';

/** Polls one contact: reads its messages and commits the changes together with their events. */
export class ContactPoll {
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
   * Runs a read of the newest messages and, if one is due, a read of older messages.
   * @returns true if the contact is known and a read of the newest messages was committed, by this call or by a faster one
   * @throws {UpstreamError} if a page could not be read; earlier pages stay committed
   */
  async poll(account: string, contactId: string, purpose: ReadPurpose = 'poll'): Promise<boolean> {
    if (!(await this.pollHead(account, contactId, purpose))) return false;
    await this.runDeepRead(account, contactId, purpose);
    return true;
  }

  /**
   * Runs a read of the newest messages: reads the pages on which new messages appear.
   * @returns true if the contact is known and a read of the newest messages was committed, by this call or by a faster one
   * @throws {UpstreamError} if a page could not be read; nothing is committed then
   */
  async pollHead(account: string, contactId: string, purpose: ReadPurpose = 'poll'): Promise<boolean> {
    return (await this.readHeadUntilCommitted(account, contactId, purpose)) !== undefined;
  }

  /**
   * Reads all new messages of a contact: runs a read of the newest messages, and a read of older messages if the
   * head may not show all new messages.
   * @returns true if the reads were committed
   * @throws {UpstreamError} if a page could not be read; earlier pages stay committed
   */
  async pollNewMessages(account: string, contactId: string, purpose: ReadPurpose): Promise<boolean> {
    const read = await this.readHeadUntilCommitted(account, contactId, purpose);
    if (read === undefined || read === 'enough') return read !== undefined;
    const signal = typeof purpose === 'object' ? purpose.signal : undefined;
    return this.runDeepRead(account, contactId, purpose, signal);
  }

  /**
   * Runs a read of the newest messages. Returns whether the head shows all new messages; undefined if the contact is
   * unknown.
   */
  private async readHeadUntilCommitted(
    account: string,
    contactId: string,
    purpose: ReadPurpose,
  ): Promise<'enough' | 'in part' | undefined> {
    let isEnough = true;
    for (let race = 0; race < MAX_COMMIT_CONFLICTS; race += 1) {
      const state = await this.store.contactState(account, contactId);
      if (state === undefined) return undefined;
      const start = { account, contactId, state, ...budgetOf(purpose) };
      const { isCommitted, reading } = await this.readOrResync(start, purpose);
      isEnough =
        doesFirstPageShowAllNewMessages(reading.order) ||
        (!reading.needsFullRead && state.emitAfter === undefined);
      if (isCommitted) break;
    }
    return isEnough ? 'enough' : 'in part';
  }

  /**
   * Runs the read of older messages that is due, if any: reads all pages, or all messages whose flags may still change.
   * @param signal aborts the read after the current page
   * @returns true if the read reached its end, or no read of older messages was due
   * @throws {UpstreamError} if a page could not be read; earlier pages stay committed
   */
  async runDeepRead(
    account: string,
    contactId: string,
    purpose: ReadPurpose,
    signal?: AbortSignal,
  ): Promise<boolean> {
    const state = await this.store.contactState(account, contactId);
    if (state === undefined || lossReasonOf(state) !== undefined) return true;
    const goal = this.goalOf(state);
    if (goal === undefined) return true;
    const { settleMs, pageRetriesMs = [] } = this.settings;
    const task = { account, contactId, purpose, goal, ...(signal === undefined ? {} : { signal }) };
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

  private goalOf(state: ContactState): 'everything' | 'look' | undefined {
    if (this.isFullReadDue(state)) return 'everything';
    const { lookUpDueAt } = state.memory;
    return lookUpDueAt !== undefined && lookUpDueAt <= state.now ? 'look' : undefined;
  }

  private isFullReadDue({ memory, now, emitAfter }: ContactState): boolean {
    if (emitAfter !== undefined || memory.completeAt === undefined) return true;
    if (memory.completeDueAt !== undefined && memory.completeDueAt <= now) return true;
    return memory.completeAt + this.settings.sweepMs <= now;
  }

  /** Reads the head. Starts a new baseline if the snapshot is lost or damaged: else every later poll would fail as well. */
  private async readOrResync(start: PollStart, purpose: ReadPurpose): Promise<HeadCommit> {
    const resync = lossReasonOf(start.state);
    try {
      return await this.readAndCommit({ ...start, ...(resync === undefined ? {} : { resync }) }, purpose);
    } catch (error) {
      if (!(error instanceof DamagedSnapshotError)) throw error;
      return this.readAndCommit({ ...start, resync: DAMAGED_REASON }, purpose);
    }
  }

  private async readAndCommit(start: PollStart, purpose: ReadPurpose): Promise<HeadCommit> {
    const { account, contactId, state, resync } = start;
    const head = await readNewestMessages(
      {
        read: (page, limit) => this.source.listMessages(account, contactId, page, limit, purpose),
        known: async (ids) =>
          resync === undefined
            ? new Set((await this.store.knownMessages(account, contactId, ids)).keys())
            : new Set(),
      },
      planOf(start),
    );
    if (resync === undefined && head.metNoKnownMessage && (await this.isReplaced(start, head))) {
      const replaced = { ...start, resync: 'upstream shows other messages than before' };
      const reading = readingOf(head, start, true);
      return { reading, isCommitted: await this.committer.commit(replaced, reading, new Map(), 'head') };
    }
    const known = await this.snapshotsOf(start, head);
    const unsettledLookedUp = this.showsAllUnsettled(start, head, known);
    const reading = {
      ...readingOf(head, start, isHeadDisturbed(state, head, known.served)),
      unsettledLookedUp,
    };
    const isCommitted = await this.committer.commit(start, reading, known.all ?? known.served, 'head');
    return { reading, isCommitted };
  }

  private async snapshotsOf(
    { account, contactId, state, resync }: PollStart,
    { served }: HeadRead,
  ): Promise<HeadSnapshots> {
    if (resync !== undefined) return { served: new Map() };
    const ids = served.map(({ id }) => id);
    const { lookUpDueAt } = state.memory;
    if (lookUpDueAt === undefined || lookUpDueAt > state.now)
      return { served: await this.store.knownMessages(account, contactId, ids) };
    const all = await this.store.allKnownMessages(account, contactId);
    return {
      all,
      served: new Map(
        ids.flatMap((id) => (all.has(id) ? [[id, all.get(id)] as [string, KnownMessage]] : [])),
      ),
    };
  }

  /** Returns true if unsettled messages were due for a look-up and the head contained all of them. */
  private showsAllUnsettled({ state }: PollStart, { served }: HeadRead, { all }: HeadSnapshots): boolean {
    if (all === undefined) return false;
    const shown = new Set(served.map(({ id }) => id));
    return [...all].every(
      ([id, known]) => shown.has(id) || !mayFlagsStillChange(known, state.now, this.settings.settleMs),
    );
  }

  /** Returns true if upstream shows messages of the contact but none of its many known ones. */
  private async isReplaced({ account, contactId }: PollStart, { served }: HeadRead): Promise<boolean> {
    if (served.length === 0) return false;
    const known = await this.store.allKnownMessages(account, contactId);
    const present = [...known.values()].filter(({ deleted }) => !deleted).length;
    return suggestsOutage(present, present) && served.every(({ id }) => !known.has(id));
  }
}

/**
 * A read of the newest messages, and whether its commit was accepted (false if another read of the contact was
 * committed meanwhile).
 */
interface HeadCommit {
  reading: PagesRead;
  isCommitted: boolean;
}

/** Returns the request budget of the account's polls, as the claim reported it. */
function budgetOf(purpose: ReadPurpose): Pick<PollStart, 'requestsPerSecond'> {
  return typeof purpose === 'object' ? { requestsPerSecond: purpose.availableForPolls } : {};
}

interface HeadSnapshots {
  /** Snapshots of the messages that were read. */
  served: ReadonlyMap<string, KnownMessage>;
  /** Snapshots of all known messages of the contact, if they were needed. */
  all?: ReadonlyMap<string, KnownMessage>;
}

function planOf({ state, resync }: PollStart): HeadPlan {
  const { memory, extension, now, failures, storedMessages, longestPage } = state;
  const { order, length, pageSize, limit } = resync === undefined ? memory : EMPTY_POLL_MEMORY;
  const { headLimit, headLimitUntil = 0 } = extension;
  return {
    ...{ order, length, pageSize, longestPage, failures },
    // Before the first complete read of older messages, only a newest-first page can serve as the head.
    ...(memory.completeAt === undefined && order === 'oldestFirst' ? { order: 'unknown' } : {}),
    known: resync === undefined ? storedMessages : 0,
    isFirst: state.emitAfter !== undefined || resync !== undefined,
    ...(limit === undefined ? {} : { limit }),
    ...(headLimit === undefined || headLimit >= PAGE_LIMIT
      ? {}
      : headLimitUntil > now
        ? { headLimit }
        : { lastHeadLimit: headLimit }),
  };
}

function readingOf(head: HeadRead, { state }: PollStart, disturbed: boolean): PagesRead {
  const { served, order, length, pageSize, longestPage, limit, headLimit, skipped, unreadable, date } = head;
  return {
    ...{ served, order, head: head.head, length, pageSize, longestPage, skipped, unreadable },
    ...(limit === undefined ? {} : { limit }),
    ...(headLimit === undefined ? {} : { headLimit }),
    ...(date === undefined ? {} : { date }),
    ...{ detectsVolatility: true, unsettledLookedUp: false },
    needsFullRead: disturbed || (!head.coversAllNew && state.emitAfter === undefined),
  };
}

/** Returns true if messages at the head disappeared or moved since the last read of the newest messages. */
function isHeadDisturbed(
  { memory, emitAfter }: ContactState,
  { shown, order, showsEnd }: HeadRead,
  known: ReadonlyMap<string, KnownMessage>,
): boolean {
  // The first read of older messages is still under way and reads all pages anyway.
  if (emitAfter !== undefined) return false;
  const { head: before, length } = memory;
  const now = hashIds(shown.filter((id) => known.has(id)));
  const marks = new Set(splitIdHashes(now));
  const isMissing = splitIdHashes(before).some((mark) => !marks.has(mark));
  // The order changed. From `unknown` to a known order is no disturbance.
  if (order !== memory.order) return memory.order !== 'unknown' && (!showsEnd || isMissing);
  // Oldest first: the last messages must still stand at the same positions, with no earlier message among them.
  if (order === 'oldestFirst') {
    const { page, limit } = lastPageOf(length, memory.pageSize);
    const wasRead = before !== '' || (page - 1) * limit >= length;
    return wasRead && now !== before;
  }
  if (order === 'unsorted' || (order === 'unknown' && showsEnd)) return isMissing;
  // A page that is not full shows the end of the list: all former head messages must still be there.
  if (showsEnd) return !now.startsWith(before);
  return !before.startsWith(now) && !now.startsWith(before);
}

/** Returns the reason why the stored state of a contact is unusable; undefined if the state is usable. */
function lossReasonOf({ lost, memory, storedMessages, epoch }: ContactState): string | undefined {
  if (lost) return 'the stored state of the contact was lost';
  if (memory.count > 0 && storedMessages === 0) return 'the stored snapshots of its messages were lost';
  if (memory.epoch !== undefined && memory.epoch !== epoch) return 'the event log was lost';
  return undefined;
}
