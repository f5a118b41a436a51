import { isFlagMissing, isWithinSettleTime, type KnownMessage } from '../snapshot/known-message.js';
import { hashAndJoinIds, splitIdHashes } from '../snapshot/poll-state.js';
import { mayBeCausedByPageSize } from '../walk/page-errors.js';
import { DOCUMENTED_MAX_MESSAGES_PER_PAGE } from '../walk/page-limits.js';
import { type CommittingPageReader, MAX_PAGES_PER_DEEP_READ } from './committing-page-reader.js';
import type { PageCommitter } from './page-committer.js';

/**
 * How a flag check ended: `all` messages whose flags may still change were read, the `end` of the list was reached
 * before that, or it was `stopped` early.
 */
export type FlagCheckOutcome = 'all' | 'end' | 'stopped';

/**
 * Reads pages of a sorted list, from newer to older messages, until all messages outside the head are found whose
 * flags (`delivered`, `read`) may still change.
 */
export class FlagCheck {
  /**
   * Timestamps of the outbound messages outside the head that have a flag that is not set yet, by message id.
   * Undefined for a message without a readable timestamp.
   */
  private readonly withMissingFlag = new Map<string, number | undefined>();

  /**
   * @param known snapshots of all known messages of the contact, by message id
   * @param settleMs time after a message's timestamp during which its flags may still change, in milliseconds
   */
  constructor(
    private readonly pages: CommittingPageReader,
    private readonly commits: PageCommitter,
    known: ReadonlyMap<string, KnownMessage>,
    private readonly settleMs: number,
  ) {
    // Messages in the head need no deep read, because each read of the newest messages contains them.
    const head = new Set(splitIdHashes(commits.state.pollState.head));
    for (const [id, message] of known)
      if (isFlagMissing(message) && !head.has(hashAndJoinIds([id])))
        this.withMissingFlag.set(id, message.timestamp);
  }

  /** @throws {UpstreamError} if a page could not be read; earlier pages stay committed */
  run(): Promise<FlagCheckOutcome> {
    return this.pages.order === 'newestFirst' ? this.readNewestFirst() : this.readOldestFirst();
  }

  private async readNewestFirst(): Promise<FlagCheckOutcome> {
    const limit = this.pages.limit ?? DOCUMENTED_MAX_MESSAGES_PER_PAGE;
    if (limit <= DOCUMENTED_MAX_MESSAGES_PER_PAGE) return this.readFrom(2, limit);
    try {
      return await this.readFrom(1, limit);
    } catch (error) {
      if (!this.pages.reader.requests.askedForLargePage || !mayBeCausedByPageSize(error)) throw error;
      this.pages.noteLargePagesRefused();
      this.pages.beginPass();
      return this.readFrom(2, DOCUMENTED_MAX_MESSAGES_PER_PAGE);
    }
  }

  /**
   * Reads pages of a newest-first list until all messages are found whose flags may still change. With the documented
   * limit, the read begins at page 2, because page 1 is the head, and each read of the newest messages reads the
   * head.
   */
  private async readFrom(first: number, limit: number): Promise<FlagCheckOutcome> {
    for (let page = first; page <= MAX_PAGES_PER_DEEP_READ; page += 1) {
      if (this.pages.isStopped()) return 'stopped';
      const read = await this.pages.readPage(page, limit);
      if (read === undefined) return 'stopped';
      if (this.hasReadAllUnsettled()) return 'all';
      if (read.repeats) return 'end';
    }
    return 'end';
  }

  private async readOldestFirst(): Promise<FlagCheckOutcome> {
    const { length, head } = this.commits.state.pollState;
    const { limit } = this.pages.requestForLastPage(length);
    // The list is sorted oldest first, so the head is at its end. The read starts with the page that contains the
    // newest message before the head, and goes back to page 1. The first page that is read may also contain the
    // beginning of the head, because the head may have been read with a different limit.
    const older = length - splitIdHashes(head).length;
    for (let page = Math.max(Math.ceil(older / limit), 1); page >= 1; page -= 1) {
      if (this.pages.isStopped()) return 'stopped';
      if ((await this.pages.readPage(page, limit)) === undefined) return 'stopped';
      if (this.hasReadAllUnsettled()) return 'all';
    }
    return 'end';
  }

  private hasReadAllUnsettled(): boolean {
    const upstreamNow = this.pages.reader.requests.firstReply?.date ?? this.commits.state.now;
    for (const [id, timestamp] of this.withMissingFlag)
      if (isWithinSettleTime(timestamp, upstreamNow, this.settleMs) && !this.pages.reader.records.ids.has(id))
        return false;
    return true;
  }
}
