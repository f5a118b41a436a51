import { isOutageMoreLikelyThanDeletions } from '../diff/absence.js';
import type { FeedStore } from '../feed-store.js';
import type { LookupReads } from '../ports.js';
import type { ContactState } from '../snapshot/contact-state.js';
import type { KnownMessage } from '../snapshot/known-message.js';
import { hashAndJoinIds } from '../snapshot/poll-state.js';
import { DOCUMENTED_MAX_MESSAGES_PER_PAGE } from '../walk/page-limits.js';
import type { PageRead } from '../walk/page-reader.js';
import type { PagesRead } from '../walk/pages-read.js';
import type { PollCommitter } from './poll-committer.js';
import { type PollStart, MESSAGES_REPLACED_REASON } from './poll-start.js';

/** Maximum number of pages that are read but not committed while none of them contains a known message. */
const MAX_HELD_PAGES = 50;

/** Which contact's pages are committed, and how many of them are read. */
export interface PageCommitterTask {
  account: string;
  contactId: string;
  /**
   * Whether all pages are read (`everything`), or only as many as needed to find all messages whose flags may still
   * change (`unsettled`).
   */
  goal: 'everything' | 'unsettled';
  /**
   * Receives the messages that are read. Present only during a look-up, which searches for the messages of sends.
   */
  lookup?: LookupReads;
}

/**
 * Compares each page of a read with the snapshot and commits it on its own. The stored state of the contact must be
 * read again before each request for a page; see {@link refreshState}. A page is then never compared with snapshots
 * that are newer than the request.
 */
export class PageCommitter {
  /** Polling state of the contact. It is read again before each request for a page. */
  state: ContactState;
  /**
   * True if a committed page contained a message that was not in the snapshot. Reset when the read starts again at
   * page 1.
   */
  foundNew = false;
  /** Pages that were read and wait for their commit; see {@link holdBack}. */
  private heldPages: PageRead[] = [];
  private isHoldingBack = false;

  constructor(
    private readonly store: FeedStore,
    private readonly committer: PollCommitter,
    private readonly task: PageCommitterTask,
    state: ContactState,
  ) {
    this.state = state;
  }

  /**
   * From now on, commits no page until a page contains a known message, or {@link MAX_HELD_PAGES} pages wait for
   * their commit. If no page contains one, upstream returns a different list than before, and the contact needs a new
   * baseline. Has no effect if the contact has only a few known messages.
   * @param known number of known messages that are not deleted
   */
  holdBack(known: number): void {
    this.isHoldingBack = isOutageMoreLikelyThanDeletions(known, known);
  }

  /**
   * True if pages with messages wait for their commit, because no page so far contained a known message.
   */
  get showsOtherMessages(): boolean {
    return this.heldPages.some(({ ids }) => ids.length > 0);
  }

  /**
   * Reads the stored state of the contact again. Returns false if the contact is unknown, or if what this read has
   * committed so far may no longer be stored: the state was lost, another Redis run began, or another read took a new
   * baseline.
   */
  async refreshState(): Promise<boolean> {
    const state = await this.store.contactState(this.task.account, this.task.contactId);
    if (state === undefined || state.lost) return false;
    // Each new baseline raises the revision floor.
    const { redisRun, pollState } = this.state;
    if (state.redisRun !== redisRun || state.pollState.revisionFloor !== pollState.revisionFloor)
      return false;
    this.state = state;
    return true;
  }

  /**
   * Commits a page, together with the pages that wait for their commit.
   * @param observed what the read shows of the list so far, without its messages
   * @returns `committed`, also if there was nothing to commit. `held` if the page waits for its commit; see
   * {@link holdBack}. `refused` if the store refused the commit (see `FeedStore.commitPoll`); the page must then be
   * read again.
   */
  async commit(page: number, read: PageRead, observed: PagesRead): Promise<'committed' | 'held' | 'refused'> {
    const isEmpty = read.ids.length === 0 && observed.unreadable.length === 0;
    if (isEmpty && this.heldPages.length === 0) return 'committed';
    const known = await this.snapshotsOf(read);
    if (this.isHoldingBack) {
      if (known.size === 0 && this.heldPages.length < MAX_HELD_PAGES) {
        this.heldPages.push(read);
        return 'held';
      }
      this.isHoldingBack = false;
    }
    // The pages that wait for their commit may contain messages that another read has committed meanwhile.
    // These messages are left out, because the other read may be newer.
    const held = this.heldPages.flatMap(({ items }) => items).filter(({ id }) => !known.has(id));
    // A message may be on several of the pages that are committed now. Only the latest form of the message is
    // used.
    const served = [...new Map([...held, ...read.items].map((item) => [item.id, item])).values()];
    const isNew = served.some(({ id }) => !known.has(id));
    const reading = {
      ...observed,
      served,
      ...this.newHead(page, read, known),
      detectsVolatility: page === 1,
    };
    const done = await this.committer.commit(this.startOf(), reading, known, 'page');
    if (!done) return 'refused';
    this.heldPages = [];
    this.foundNew ||= isNew;
    return 'committed';
  }

  /** Returns the snapshots of the messages on this page and on the earlier pages that are not committed yet. */
  private async snapshotsOf({
    ids,
    newIds,
    snapshots,
  }: PageRead): Promise<ReadonlyMap<string, KnownMessage>> {
    const isLookedUp = ids.every((id) => snapshots.has(id) || newIds.includes(id));
    if (isLookedUp && this.heldPages.length === 0) return snapshots;
    const all = new Set([...this.heldPages.flatMap((held) => held.ids), ...ids]);
    return this.store.knownMessages(this.task.account, this.task.contactId, [...all]);
  }

  /**
   * Returns the ids of the first messages on page 1, which are stored as the new head of the contact. If messages of
   * the stored head have disappeared or moved, the result also requests a read of all pages, because later reads
   * compare only with the new head and would not notice that these messages are missing. If the current read covers
   * all pages, no further read is requested. Returns an empty object for another page, for a request of fewer
   * messages than the documented page size, and for a list that is not newest first.
   */
  private newHead(
    page: number,
    { ids, limit, count }: PageRead,
    known: ReadonlyMap<string, KnownMessage>,
  ): Partial<Pick<PagesRead, 'head' | 'needsFullRead'>> {
    const { order, head: before } = this.state.pollState;
    if (page !== 1 || limit < DOCUMENTED_MAX_MESSAGES_PER_PAGE || order !== 'newestFirst') return {};
    const head = ids.slice(0, DOCUMENTED_MAX_MESSAGES_PER_PAGE);
    if (this.task.goal === 'everything') return { head };
    const shown = hashAndJoinIds(ids.filter((id) => known.has(id)));
    const isWhole = shown.startsWith(before) || (count >= limit && before.startsWith(shown));
    return isWhole ? { head } : { head, needsFullRead: true };
  }

  /**
   * Commits the pages that waited for their commit. They become a new baseline, because upstream returns messages of
   * the contact, but none of the known ones.
   * @param observed what the read shows of the list so far, without its messages
   */
  async commitHeldPages(observed: PagesRead): Promise<void> {
    const served = this.heldPages.flatMap(({ items }) => items);
    const start = { ...this.startOf(), resync: MESSAGES_REPLACED_REASON };
    await this.committer.commit(start, { ...observed, served }, new Map(), 'page');
  }

  startOf(): PollStart {
    const { account, contactId, lookup } = this.task;
    return { account, contactId, state: this.state, ...(lookup === undefined ? {} : { lookup }) };
  }
}
