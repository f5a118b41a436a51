import { UpstreamError, UpstreamUnavailableError } from '#upstream';
import { LRUCache } from 'lru-cache';
import type { FeedStore } from '../feed-store.js';
import type { ContactPoller } from '../poll/contact-poller.js';
import { CoalescingTaskRunner } from './coalescing-task-runner.js';
import { isNotFound } from './upstream-not-found.js';

/** Maximum number of contacts that one round reads. */
const MAX_CONTACTS_PER_ROUND = 50;
/**
 * Maximum number of contacts that are read although earlier reads found no message in them. If an account has more such
 * contacts, none of them is read: the contact list then probably contains people who were never written to, and sends
 * would wait long for reads of all of them.
 */
const MAX_EMPTY_CONTACTS = 100;
/** Maximum number of contacts whose last read is remembered, over all accounts. */
const MAX_REMEMBERED_CONTACTS = 1_000;
/** Maximum number of accounts whose last round is remembered. */
const MAX_REMEMBERED_ACCOUNTS = 1_000;

/**
 * How recently all unidentified contacts of an account were read. Times are in milliseconds since 1970, by Redis'
 * clock.
 */
interface Progress {
  /** When the read of the contact list that contained these contacts started. Undefined if no list was read yet. */
  listReadAt: number | undefined;
  /**
   * Each of these contacts was read at this time or later. `Infinity` if there are no such contacts; `-Infinity` if
   * at least one of them was not read.
   */
  allReadSince: number;
}

/**
 * Reads unidentified contacts: contacts whose phone number is not known, because neither the contact list nor a known
 * message contains it. The message of a send may be in any of them. A read that finds messages also finds the
 * contact's phone number, and binds the messages to their sends.
 */
export class UnidentifiedContactReader {
  /** Runs rounds of reads, one account per round. Callers that wait for the same account share a round. */
  private readonly rounds = new CoalescingTaskRunner((account) => this.readOldest(account));
  private readonly progress = new LRUCache<string, Progress>({ max: MAX_REMEMBERED_ACCOUNTS });
  /** For each account, the latest time that a caller passed to {@link areReadSince} as `since`. */
  private readonly wantedSince = new LRUCache<string, number>({ max: MAX_REMEMBERED_ACCOUNTS });
  /** When each contact was last read, in milliseconds since 1970 by Redis' clock. */
  private readonly readAt = new LRUCache<string, number>({ max: MAX_REMEMBERED_CONTACTS });

  constructor(
    private readonly store: Pick<FeedStore, 'unidentifiedContacts'>,
    private readonly messages: Pick<ContactPoller, 'pollHead'>,
  ) {}

  /**
   * Returns true if all unidentified contacts were read at `since` or later. If they were not, first reads up to
   * {@link MAX_CONTACTS_PER_ROUND} of them and checks again, so several calls may be needed until the result is true.
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
    // A contact list that was read after `progress.listReadAt` may contain further contacts.
    if (progress?.listReadAt === undefined || listReadAt === undefined) return false;
    return progress.listReadAt >= listReadAt && progress.allReadSince >= since;
  }

  /** Reads the unidentified contacts that were not read recently enough, the longest ago first. */
  private async readOldest(account: string): Promise<void> {
    const { startedAt, listReadAt, contacts: all } = await this.store.unidentifiedContacts(account);
    const areTooManyEmpty = all.filter(({ wasRead }) => wasRead).length > MAX_EMPTY_CONTACTS;
    const contacts = all.filter(({ wasRead }) => !wasRead || !areTooManyEmpty);
    const since = this.wantedSince.get(account) ?? -Infinity;
    const lastReadOf = (id: string): number => this.readAt.get(`${account} ${id}`) ?? -Infinity;
    const due = contacts
      .filter(({ id, isMissing }) => !isMissing && lastReadOf(id) < since)
      .sort((a, b) => lastReadOf(a.id) - lastReadOf(b.id) || 0);
    for (const { id } of due.slice(0, MAX_CONTACTS_PER_ROUND)) {
      if (await this.read(account, id)) this.readAt.set(`${account} ${id}`, startedAt);
    }
    // A missing contact counts as not read, because in an outage upstream may show neither the contact nor its
    // messages.
    const allReadSince = contacts.reduce(
      (earliest, { id, isMissing }) => Math.min(earliest, isMissing ? -Infinity : lastReadOf(id)),
      Infinity,
    );
    this.progress.set(account, { listReadAt, allReadSince });
  }

  /**
   * Reads the newest messages of a contact. If there are any, the contact's phone number becomes known. Returns false
   * if they could not be read.
   */
  private async read(account: string, contactId: string): Promise<boolean> {
    try {
      return await this.messages.pollHead(account, contactId, 'lookup');
    } catch (error) {
      if (!(error instanceof UpstreamError) || error instanceof UpstreamUnavailableError) throw error;
      // A contact that upstream does not find has no messages. Other errors of one contact do not end the round, because
      // the message may be in another contact.
      return isNotFound(error);
    }
  }
}
