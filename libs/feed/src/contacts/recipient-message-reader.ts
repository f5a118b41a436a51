import type { Logger } from '#platform';
import { UpstreamError, UpstreamUnavailableError } from '#upstream';
import type { ContactListPoller } from './contact-list-poller.js';
import type { ContactPoller } from '../poll/contact-poller.js';
import type { FeedStore, Recipient } from '../feed-store.js';
import type { LookupReads } from '../ports.js';
import { CoalescingTaskRunner } from './coalescing-task-runner.js';
import { PollExpediter } from './poll-expediter.js';
import { UnidentifiedContactReader } from './unidentified-contact-reader.js';
import { isUpstreamNotFoundError } from './upstream-not-found.js';

/**
 * After a send was accepted, its recipient's contact becomes due for a poll within this many milliseconds. The poll
 * itself may be later, because it needs a token of the request budget.
 */
const READ_AFTER_ACCEPTANCE_WITHIN_MS = 250;

/** Options of {@link RecipientMessageReader.lookUp}. */
interface LookupOptions {
  /**
   * If the contact list was last read before this time (milliseconds since 1970 by Redis' clock), the contact list is
   * read again first.
   */
  minListReadAt?: number;
  /**
   * If true, the look-up also counts as incomplete in three cases: the contact list was last read before
   * `minListReadAt` and could not be read again; a contact with the phone number could be read, but is missing from
   * the list; or no contact has the phone number, but the list may be incomplete because of an outage.
   */
  isListRequired?: boolean;
  /**
   * If given, the look-up is complete only if all unidentified contacts were read at `minUnidentifiedReadAt`
   * (milliseconds since 1970 by Redis' clock) or later. The look-up reads the unidentified contacts whose last read
   * was earlier, unless the look-up is already incomplete. If the account has more than `MAX_UNIDENTIFIED_CONTACTS`
   * unidentified contacts, they are ignored.
   */
  minUnidentifiedReadAt?: number;
  /** True if new sends have priority over this look-up in the request budget. */
  isLowPriority?: boolean;
  /** Receives the contacts and messages that are read. */
  reads?: LookupReads;
}

/** What a look-up has read so far. */
interface ContactsRead {
  /** The contacts that were read, or whose read failed. */
  readonly ids: Set<string>;
  /** False if it is uncertain whether all messages of the phone number were read. */
  isComplete: boolean;
  /** Error of the first contact that could not be read. */
  failure?: UpstreamError;
}

/** Reads the messages of a send's recipient, to find the message that belongs to the send. */
export class RecipientMessageReader {
  /**
   * Polls the contact list of an account. Callers that wait for the list of the same account share one poll.
   */
  private readonly listPolls: CoalescingTaskRunner;
  private readonly expediter: PollExpediter;
  private readonly unidentified: UnidentifiedContactReader;

  constructor(
    private readonly store: FeedStore,
    contacts: ContactListPoller,
    private readonly messages: ContactPoller,
    logger: Logger,
  ) {
    this.listPolls = new CoalescingTaskRunner((account) => contacts.poll(account, 'lookup'));
    this.expediter = new PollExpediter(store, READ_AFTER_ACCEPTANCE_WITHIN_MS);
    this.unidentified = new UnidentifiedContactReader(store, messages, logger);
  }

  /**
   * Immediately reads the new messages of all contacts with the given phone number, and binds these messages to
   * sends.
   * @returns true if the look-up is complete: each contact with the phone number was read completely or no longer
   * exists, and no option makes the look-up incomplete; see {@link LookupOptions}
   * @throws {UpstreamError} if the messages of a contact could not be read, or if the contact list could not be read
   * and the known contacts do not suffice; messages that were read before stay committed
   */
  async lookUp(account: string, phoneNumber: string, options: LookupOptions = {}): Promise<boolean> {
    const { minListReadAt, isListRequired = false, minUnidentifiedReadAt: since } = options;
    const recipient = await this.findWithFreshList(account, phoneNumber, minListReadAt);
    const done: ContactsRead = {
      ids: new Set(),
      isComplete: !isListRequired || isListUsable(recipient, minListReadAt),
    };
    await this.readContacts(account, phoneNumber, recipient, done, options);
    if (since !== undefined && done.isComplete && done.failure === undefined) {
      done.isComplete = await this.unidentified.areReadSince(account, since, recipient.listReadAt);
      // The reads of unidentified contacts may have found further contacts with the phone number.
      const now = await this.store.recipientOf(account, phoneNumber);
      await this.readContacts(account, phoneNumber, now, done, options);
    }
    if (done.failure !== undefined) throw done.failure;
    return done.isComplete;
  }

  /** Reads the new messages of those contacts of a phone number that `done` does not contain yet. */
  private async readContacts(
    account: string,
    phoneNumber: string,
    first: Recipient,
    done: ContactsRead,
    { isListRequired = false, isLowPriority = false, reads }: LookupOptions,
  ): Promise<void> {
    const purpose = isLowPriority ? 'confirmation' : 'lookup';
    let recipient = first;
    for (;;) {
      const contact = recipient.contacts.find(({ id }) => !done.ids.has(id));
      if (contact === undefined) return;
      done.ids.add(contact.id);
      reads?.add(contact.id, [], 0);
      try {
        if (!(await this.messages.pollNewMessages(account, contact.id, purpose, reads)))
          done.isComplete = false;
        // If the contact is missing from the contact list because of an outage, upstream may not return the contact's
        // messages either.
        if (isListRequired && contact.isMissing) done.isComplete = false;
      } catch (error) {
        if (!(error instanceof UpstreamError) || error instanceof UpstreamUnavailableError) throw error;
        if (isUpstreamNotFoundError(error)) {
          if (!contact.isMissing) recipient = await this.pollListAndFind(account, phoneNumber);
          if (isGone(recipient, contact.id)) continue;
        }
        // The read of one contact failed. The other contacts with this phone number are still read, because
        // one of them may have the message.
        done.failure ??= error;
      }
    }
  }

  /**
   * Reads the contact list. Callers that wait at the same time share one read.
   * @throws {UpstreamError} if the list could not be read
   */
  readList(account: string): Promise<void> {
    return this.listPolls.run(account);
  }

  /** Expedites the poll of the recipient's contact, so that the send's message is found soon. */
  expeditePoll(account: string, phoneNumber: string): Promise<void> {
    // If no contact has the phone number yet, `expedite` requests a read of the contact list. A contact that is
    // new in the list is polled at once.
    return this.expediter.expedite(account, phoneNumber);
  }

  /**
   * Returns the contacts that own the phone number. Reads the contact list first if its last read is too old,
   * or if no contact owns the number.
   */
  private async findWithFreshList(
    account: string,
    phoneNumber: string,
    since: number | undefined,
  ): Promise<Recipient> {
    const recipient = await this.store.recipientOf(account, phoneNumber);
    if (recipient.contacts.length > 0 && isListReadSince(recipient, since)) return recipient;
    try {
      return await this.pollListAndFind(account, phoneNumber);
    } catch (error) {
      if (recipient.contacts.length === 0) throw error;
      if (!(error instanceof UpstreamError) || error instanceof UpstreamUnavailableError) throw error;
      // If the contact list cannot be read, the look-up continues with the contacts that are already known.
      return recipient;
    }
  }

  private async pollListAndFind(account: string, phoneNumber: string): Promise<Recipient> {
    await this.listPolls.run(account);
    return this.store.recipientOf(account, phoneNumber);
  }
}

function isListReadSince({ listReadAt = -Infinity }: Recipient, since: number | undefined): boolean {
  return since === undefined || listReadAt >= since;
}

/**
 * Returns true if the contact list was read recently enough and can be trusted to contain all contacts of the number.
 * If no contact of the number is known, a suspect list cannot be trusted: it may be incomplete because of an
 * outage.
 */
function isListUsable(recipient: Recipient, since: number | undefined): boolean {
  return isListReadSince(recipient, since) && !(recipient.contacts.length === 0 && recipient.isListSuspect);
}

/**
 * Returns true if the last contact list shows that the contact does not exist, or that it no longer has the phone
 * number. A suspect list shows neither.
 */
function isGone({ contacts, isListSuspect }: Recipient, id: string): boolean {
  if (isListSuspect) return false;
  return contacts.find((contact) => contact.id === id)?.isMissing ?? true;
}
