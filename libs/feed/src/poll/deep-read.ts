import { CommittingPageReader, MAX_COMMIT_CONFLICTS } from './committing-page-reader.js';
import { FlagCheck } from './flag-check.js';
import { FullWalk } from './full-walk.js';
import { PageCommitter } from './page-committer.js';
import type { FeedStore } from '../feed-store.js';
import type { ContactState } from '../snapshot/contact-state.js';
import type { KnownMessage } from '../snapshot/known-message.js';
import { DOCUMENTED_MAX_MESSAGES_PER_PAGE } from '../walk/page-limits.js';
import type { PollCommitter } from './poll-committer.js';
import type { FeedSource, LookupReads, ReadPurpose } from '../ports.js';
import type { FullRead, PagesRead } from '../walk/pages-read.js';

/**
 * Maximum number of times that one read of a contact goes through all pages. For example, a read that found new
 * messages goes through all pages again.
 */
const MAX_PASSES = 5;

export interface DeepReadSettings {
  /** Time after a message's timestamp during which its flags may still change, in milliseconds. */
  settleMs: number;
  /**
   * How long to wait before each retry of a failed page, in milliseconds. If the last retry fails too, the
   * page is read in smaller parts.
   */
  pageRetriesMs: readonly number[];
}

/** Which contact's older messages are read, for which purpose, and how many of them. */
export interface DeepTask {
  account: string;
  contactId: string;
  purpose: ReadPurpose;
  /**
   * `everything`: read all messages. `unsettled`: read only as many pages as needed to find all messages with
   * flags (`delivered`, `read`) that may still change.
   */
  goal: 'everything' | 'unsettled';
  /**
   * Receives the messages that are read. Present only during a look-up, which searches for the messages of sends.
   */
  lookup?: LookupReads;
  /** Aborts the read after the current page, or before the next retry or the next part of a failed page. */
  signal?: AbortSignal;
}

/**
 * Reads the older messages of a contact, page by page. Each page is compared with the snapshot and committed on its
 * own. Reads of the newest messages can therefore continue meanwhile, and an aborted read of older messages loses
 * nothing.
 *
 * A message that is on no page may have moved between pages during the read. If known messages are missing after all
 * pages were read, all pages are therefore read once more, unless some elements are unreadable.
 */
export class DeepRead {
  private readonly commits: PageCommitter;
  private readonly pages: CommittingPageReader;
  private readonly walk: FullWalk;
  /**
   * `knownBefore`: ids of the messages that were known before the read began. `presentBefore`: the same ids
   * without those of deleted messages. Only the messages in `presentBefore` can be missing.
   */
  private knownBefore: ReadonlySet<string> = new Set();
  private presentBefore: readonly string[] = [];
  private readonly startedAt: number;
  /**
   * Time at which an extra read of all pages is due, as stored in `PollState.completeDueAt` when this read began.
   * Undefined if no extra read was planned.
   */
  private readonly dueAt: number | undefined;

  constructor(
    private readonly store: FeedStore,
    source: FeedSource,
    private readonly committer: PollCommitter,
    private readonly settings: DeepReadSettings,
    private readonly task: DeepTask,
    state: ContactState,
  ) {
    const { pageRetriesMs } = settings;
    this.startedAt = state.now;
    this.dueAt = state.pollState.completeDueAt;
    this.commits = new PageCommitter(store, committer, task, state);
    this.pages = new CommittingPageReader(source, store, this.commits, { ...task, pageRetriesMs });
    this.walk = new FullWalk(this.pages, this.commits);
  }

  /**
   * Runs the read of older messages.
   * @returns true if the read reached its goal and was committed; false if the read ended early, and must start again
   * @throws {UpstreamError} if a page could not be read; earlier pages stay committed
   */
  async run(): Promise<boolean> {
    const flagCheck = this.begin(await this.allKnown());
    return flagCheck === undefined ? this.readAllPages() : this.readUnsettled(flagCheck);
  }

  /**
   * Returns a flag check if a flag check is enough; undefined if all pages must be read. During the deep read, only
   * the ids of the known messages are kept (a flag check also keeps some timestamps), because the rest of the
   * snapshot may be large.
   */
  private begin(known: ReadonlyMap<string, KnownMessage>): FlagCheck | undefined {
    this.knownBefore = new Set(known.keys());
    this.presentBefore = [...known].filter(([, { deleted }]) => !deleted).map(([id]) => id);
    this.commits.holdBack(this.presentBefore.length);
    const isSorted = this.pages.order === 'newestFirst' || this.pages.order === 'oldestFirst';
    if (this.task.goal === 'everything' || !isSorted) return undefined;
    return new FlagCheck(this.pages, this.commits, known, this.settings.settleMs);
  }

  private async readUnsettled(flagCheck: FlagCheck): Promise<boolean> {
    const end = await flagCheck.run();
    if (end === 'stopped') return false;
    // All pages so far contained only unknown messages. A read of all pages shows whether upstream still lists
    // the known messages.
    if (this.commits.showsOtherMessages) return this.readAllPages();
    return this.end(end === 'all' ? undefined : 'missed');
  }

  private async readAllPages(): Promise<boolean> {
    // The documented limit may be in use only because a single request with a larger limit failed. The limit is
    // therefore determined again. This usually costs an extra request only if the larger limit fails again.
    if (this.pages.limit === DOCUMENTED_MAX_MESSAGES_PER_PAGE) this.pages.limit = undefined;
    const isFirst = this.commits.state.emitAfter !== undefined;
    let mayRepeatForMissing = true;
    for (let passes = 1; passes <= MAX_PASSES; passes += 1) {
      const pages = await this.walk.pass();
      if (pages === 'stopped') return false;
      if (this.commits.showsOtherMessages) {
        await this.commits.commitHeldPages(this.pages.reading());
        // A later read must go through all pages again.
        return false;
      }
      // If elements are unreadable, neither missing nor new messages are a reason to read the pages again: an
      // unreadable element may be one of the missing messages.
      const isWhole = this.pages.reader.skipped === 0;
      const isMissing = this.walk.isStable && isWhole && this.areSomeMissing();
      const mayHaveMissed = !this.walk.isStable && this.walk.hasShifted();
      const foundNew = this.commits.foundNew && pages > 1 && isWhole;
      // New messages may have moved other messages to pages that were already read, so the pages are read again. At
      // the first read of a contact, all messages are new, so only `mayHaveMissed` decides.
      const again = isFirst ? mayHaveMissed : foundNew;
      if (again) continue;
      if (!isMissing || !mayRepeatForMissing) break;
      mayRepeatForMissing = false;
    }
    return this.end('everything');
  }

  /**
   * Commits the results of the whole read: the order of the list, when older messages are read next and, after a read
   * of all pages, which messages are missing. Returns false if they could not be committed.
   * @param result `everything`: all pages were read. `missed`: a flag check reached the end of the list, but did not
   * find all messages whose flags may still change. undefined: a flag check found all of them
   */
  private async end(result: 'everything' | 'missed' | undefined): Promise<boolean> {
    for (let race = 0; race < MAX_COMMIT_CONFLICTS; race += 1) {
      if (!(await this.commits.refreshState())) return false;
      const known = await this.allKnown();
      const reading: PagesRead = {
        ...(result === 'everything'
          ? { ...this.walk.reading(), fullRead: this.fullRead() }
          : this.pages.reading()),
        unsettledRead: true,
        needsFullRead: result === 'missed',
      };
      if (await this.committer.commit(this.commits.startOf(), reading, known, 'end')) return true;
    }
    return false;
  }

  private fullRead(): FullRead {
    const { isStable, rowMessages } = this.walk;
    return {
      ...{ seen: this.pages.reader.records.ids, knownBefore: this.knownBefore, isStable, rowMessages },
      startedAt: this.startedAt,
      ...(this.dueAt === undefined ? {} : { dueAt: this.dueAt }),
    };
  }

  private allKnown(): Promise<ReadonlyMap<string, KnownMessage>> {
    return this.store.allKnownMessages(this.task.account, this.task.contactId);
  }

  private areSomeMissing(): boolean {
    return this.presentBefore.some((id) => !this.pages.reader.records.ids.has(id));
  }
}
