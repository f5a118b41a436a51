import type { Logger } from '#platform';
import { UpstreamError, UpstreamUnavailableError } from '#upstream';
import { LRUCache } from 'lru-cache';
import type { FeedStore, UnidentifiedContacts } from '../feed-store.js';
import type { ContactPoller } from '../poll/contact-poller.js';
import { CoalescingTaskRunner } from './coalescing-task-runner.js';
import { isUpstreamNotFoundError } from './upstream-not-found.js';

/**
 * Maximum number of unidentified contacts that are read. If an account has more, none of them is read: the contact
 * list then probably contains people who were never written to, and sends would wait too long until all were read.
 */
const MAX_UNIDENTIFIED_CONTACTS = 20;
/** Time after which a round of reads begins no further read, in milliseconds. */
const MAX_ROUND_MS = 10_000;
/** Maximum number of accounts for which this process remembers when each unidentified contact was last read. */
const MAX_ACCOUNTS = 1_000;

/** The unidentified contacts of one account, and when the messages of each were last read from upstream. */
interface AccountReads extends UnidentifiedContacts {
  /**
   * Time of the last read of each contact's messages, in milliseconds since 1970 by Redis' clock; -Infinity if
   * unknown.
   */
  readAt: ReadonlyMap<string, number>;
}

/**
 * Reads unidentified contacts: contacts for which neither a phone number nor a message is known. The message of a
 * send may be in any of them. A read that finds messages also finds the contact's phone number, and binds the
 * messages to their sends.
 */
export class UnidentifiedContactReader {
  /** Runs rounds of reads, one account per round. Callers that wait for the same account share a round. */
  private readonly rounds = new CoalescingTaskRunner((account) => this.readDue(account));
  private readonly reads = new LRUCache<string, AccountReads>({ max: MAX_ACCOUNTS });
  /** For each account, the latest time that a caller passed to {@link areReadSince} as `since`. */
  private readonly wantedSince = new LRUCache<string, number>({ max: MAX_ACCOUNTS });
  /** For each account, the contact ids of the last call of {@link logContactsNotRead}, separated by spaces. */
  private readonly loggedNotRead = new LRUCache<string, string>({ max: MAX_ACCOUNTS });

  constructor(
    private readonly store: Pick<FeedStore, 'unidentifiedContacts'>,
    private readonly messages: Pick<ContactPoller, 'pollHead'>,
    private readonly logger: Logger,
  ) {}

  /**
   * Reads the account's unidentified contacts that were last read before `since`. Then returns true if all
   * unidentified contacts were read at `since` or later. If the account has more than
   * {@link MAX_UNIDENTIFIED_CONTACTS} unidentified contacts, reads none of them and returns true.
   * @param since in milliseconds since 1970 by Redis' clock
   * @param listReadAt when the last read of the contact list started, in milliseconds since 1970 by Redis' clock; if
   * undefined, the result is false
   * @throws {UpstreamUnavailableError} if requests for the account are held
   */
  async areReadSince(account: string, since: number, listReadAt: number | undefined): Promise<boolean> {
    // The reads that belong to another contact list do not count: if Redis' clock was set back since then, their
    // times may seem recent enough.
    const isSameList = this.reads.get(account)?.listReadAt === listReadAt;
    if (isSameList && this.haveBeenRead(account, since, listReadAt)) return true;
    this.wantedSince.set(account, Math.max(since, this.wantedSince.get(account) ?? -Infinity));
    await this.rounds.run(account);
    return this.haveBeenRead(account, since, listReadAt);
  }

  private haveBeenRead(account: string, since: number, listReadAt: number | undefined): boolean {
    const reads = this.reads.get(account);
    // A contact list that was read after `reads.listReadAt` may contain further contacts.
    if (reads?.listReadAt === undefined || listReadAt === undefined || reads.listReadAt < listReadAt)
      return false;
    if (reads.contacts.length > MAX_UNIDENTIFIED_CONTACTS) return true;
    // A missing contact counts as not read, because in an outage upstream may return neither the contact nor its
    // messages.
    return reads.contacts.every(
      ({ id, isMissing }) => !isMissing && (reads.readAt.get(id) ?? -Infinity) >= since,
    );
  }

  /** Reads the unidentified contacts that were not read recently enough. */
  private async readDue(account: string): Promise<void> {
    const unidentified = await this.store.unidentifiedContacts(account, MAX_UNIDENTIFIED_CONTACTS + 1);
    const before = this.reads.get(account)?.readAt;
    const readAt = new Map<string, number>();
    for (const { id } of unidentified.contacts) {
      const at = before?.get(id) ?? -Infinity;
      // A time after `startedAt` was recorded before Redis' clock was set back, so it does not count.
      readAt.set(id, at <= unidentified.startedAt ? at : -Infinity);
    }
    this.reads.set(account, { ...unidentified, readAt });
    if (unidentified.contacts.length > MAX_UNIDENTIFIED_CONTACTS) return;
    const since = Math.min(this.wantedSince.get(account) ?? -Infinity, unidentified.startedAt);
    const end = performance.now() + MAX_ROUND_MS;
    const notRead: string[] = [];
    for (const { id, isMissing } of unidentified.contacts) {
      if (!isMissing && (readAt.get(id) ?? -Infinity) >= since) continue;
      const wasRead = !isMissing && performance.now() <= end && (await this.read(account, id));
      if (wasRead) readAt.set(id, unidentified.startedAt);
      else notRead.push(id);
    }
    this.logContactsNotRead(account, notRead);
  }

  /**
   * Logs which contacts were not read: their read failed, they are missing from the contact list, or the round took
   * too long. An operator needs to know this, because sends wait until these contacts are read. Logs nothing if there
   * are no such contacts, or if they are the same as at the previous call.
   */
  private logContactsNotRead(account: string, contactIds: readonly string[]): void {
    const ids = contactIds.join(' ');
    if (ids === (this.loggedNotRead.get(account) ?? '')) return;
    this.loggedNotRead.set(account, ids);
    if (contactIds.length === 0) return;
    this.logger.warn(
      { account, contactIds },
      'could not read contacts whose phone number is unknown; a send whose earlier POST may have succeeded is not posted again until these contacts are read, or until about ten minutes after the end of SEND_CONFIRM_MS (with a file: SEND_CONFIRM_MEDIA_MS)',
    );
  }

  /**
   * Reads the newest messages of a contact. If there are messages, the contact's phone number becomes known. Returns
   * false if the contact could not be read.
   */
  private async read(account: string, contactId: string): Promise<boolean> {
    try {
      return await this.messages.pollHead(account, contactId, 'lookup');
    } catch (error) {
      if (!(error instanceof UpstreamError) || error instanceof UpstreamUnavailableError) throw error;
      // A contact that upstream does not find has no messages, so it counts as read. After any other error, the round
      // goes on with the next contact, because the message of a send may be there.
      return isUpstreamNotFoundError(error);
    }
  }
}
