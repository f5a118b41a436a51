import { UpstreamError, UpstreamUnavailableError } from '#upstream';
import { LRUCache } from 'lru-cache';
import type { FeedStore } from '../feed-store.js';
import type { ContactPoller } from '../poll/contact-poller.js';
import { CoalescingTaskRunner } from './coalescing-task-runner.js';
import { isNotFound } from './upstream-not-found.js';

/** Maximum number of contacts that one round reads. */
const MAX_CONTACTS_PER_ROUND = 20;
/** Maximum number of contacts whose last read is remembered, over all accounts. */
const MAX_REMEMBERED_CONTACTS = 1_000;
/** Maximum number of accounts whose last round is remembered. */
const MAX_REMEMBERED_ACCOUNTS = 1_000;

/** What the reads of an account's unidentified contacts have reached. Times are by Redis' clock. */
interface Progress {
  /** The contact list that showed the contacts: when its read started. Undefined if no list was read yet. */
  listReadAt: number | undefined;
  /** Each contact was read at this time or later. `Infinity` if there are none, `-Infinity` if one was not read. */
  allReadSince: number;
}

/**
 * Reads unidentified contacts: contacts whose phone number is not known, because neither the contact list nor a message
 * has shown it. The message of a send may be in any of them. A read that finds messages identifies the contact, and
 * assigns messages to sends.
 */
export class UnidentifiedContactReader {
  /** Rounds of reads. Callers that wait for the same account share a round. */
  private readonly rounds = new CoalescingTaskRunner((account) => this.readOldest(account));
  private readonly progress = new LRUCache<string, Progress>({ max: MAX_REMEMBERED_ACCOUNTS });
  /** The latest time since which a caller wants the contacts of an account to be read. */
  private readonly wantedSince = new LRUCache<string, number>({ max: MAX_REMEMBERED_ACCOUNTS });
  /** When each contact was last read, in milliseconds since 1970 by Redis' clock. */
  private readonly readAt = new LRUCache<string, number>({ max: MAX_REMEMBERED_CONTACTS });

  constructor(
    private readonly store: Pick<FeedStore, 'unidentifiedContacts'>,
    private readonly messages: Pick<ContactPoller, 'pollNewMessages'>,
  ) {}

  /**
   * Returns true if all unidentified contacts were read at `since` or later. Reads some of them if they were not, so that
   * later calls return true.
   * @param since in milliseconds since 1970 by Redis' clock
   * @param listReadAt when the last read of the contact list started, by Redis' clock
   * @throws {UpstreamUnavailableError} if requests for the account are suspended
   */
  async areReadSince(account: string, since: number, listReadAt: number | undefined): Promise<boolean> {
    if (this.hasReached(account, since, listReadAt)) return true;
    this.wantedSince.set(account, Math.max(since, this.wantedSince.get(account) ?? -Infinity));
    await this.rounds.run(account);
    return this.hasReached(account, since, listReadAt);
  }

  private hasReached(account: string, since: number, listReadAt: number | undefined): boolean {
    const progress = this.progress.get(account);
    // A later list may have shown further contacts. After a restart of Redis, the list is read again too.
    return progress !== undefined && progress.listReadAt === listReadAt && progress.allReadSince >= since;
  }

  /** Reads the unidentified contacts that were not read recently enough, the longest ago first. */
  private async readOldest(account: string): Promise<void> {
    const { startedAt, listReadAt, contacts } = await this.store.unidentifiedContacts(account);
    const since = this.wantedSince.get(account) ?? -Infinity;
    const lastReadOf = (id: string): number => this.readAt.get(`${account} ${id}`) ?? -Infinity;
    const due = contacts
      .filter(({ id, isMissing }) => !isMissing && lastReadOf(id) < since)
      .sort((a, b) => lastReadOf(a.id) - lastReadOf(b.id) || 0);
    for (const { id } of due.slice(0, MAX_CONTACTS_PER_ROUND)) {
      if (await this.read(account, id)) this.readAt.set(`${account} ${id}`, startedAt);
    }
    // In an outage, upstream may show neither a contact nor its messages: a missing contact counts as not read.
    const allReadSince = contacts.reduce(
      (earliest, { id, isMissing }) => Math.min(earliest, isMissing ? -Infinity : lastReadOf(id)),
      Infinity,
    );
    this.progress.set(account, { listReadAt, allReadSince });
  }

  /** Returns true if all messages of the contact were read. */
  private async read(account: string, contactId: string): Promise<boolean> {
    try {
      return await this.messages.pollNewMessages(account, contactId, 'lookup');
    } catch (error) {
      if (!(error instanceof UpstreamError) || error instanceof UpstreamUnavailableError) throw error;
      // A contact that upstream does not find has no messages. Other errors of one contact do not end the round, because
      // the message may be in another contact.
      return isNotFound(error);
    }
  }
}
