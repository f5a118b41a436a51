import { UpstreamError, UpstreamStatusError, UpstreamUnavailableError } from '#upstream';
import type { ContactListPoll } from './contact-list-poll.js';
import type { ContactPoll } from '../poll/contact-poll.js';
import type { FeedStore, Recipient } from '../feed-store.js';
import { CoalescedTask } from './coalesced-task.js';

/** Time within which the contact of an accepted send is read, in milliseconds. */
const EXPECTED_WITHIN_MS = 250;

/** Reads the messages of a send's recipient. */
export class RecipientLookup {
  /** Runs the poll of an account's contact list. Callers of one account share a run. */
  private readonly listPolls: CoalescedTask;

  constructor(
    private readonly store: FeedStore,
    contacts: ContactListPoll,
    private readonly messages: ContactPoll,
  ) {
    this.listPolls = new CoalescedTask((account) => contacts.poll(account, 'lookup'));
  }

  /**
   * Reads the new messages of the recipient now. The polls bind them to sends.
   * @param options `minListReadAt`: earliest acceptable start of the last contact list read, by Redis' clock;
   * without it any list will do. `isLowPriority`: true to let new sends go first
   * @returns true if the look-up was complete: each contact that owns the number was read, or upstream and the
   * list agree that the contact does not exist
   * @throws {UpstreamError} if upstream could not be read; the readable contacts were read
   */
  async lookUp(
    account: string,
    phoneNumber: string,
    { minListReadAt, isLowPriority = false }: { minListReadAt?: number; isLowPriority?: boolean } = {},
  ): Promise<boolean> {
    const purpose = isLowPriority ? 'confirmation' : 'lookup';
    let recipient = await this.findWithFreshList(account, phoneNumber, minListReadAt);
    let isComplete = true;
    let failure: UpstreamError | undefined;
    const readIds = new Set<string>();
    for (;;) {
      const contact = recipient.contacts.find(({ id }) => !readIds.has(id));
      if (contact === undefined) break;
      readIds.add(contact.id);
      try {
        if (!(await this.messages.pollNewMessages(account, contact.id, purpose))) isComplete = false;
      } catch (error) {
        if (!(error instanceof UpstreamError) || error instanceof UpstreamUnavailableError) throw error;
        if (isNotFound(error)) {
          if (!contact.isMissing) recipient = await this.pollListAndFind(account, phoneNumber);
          if (isGone(recipient, contact.id)) continue;
        }
        // The remaining contacts are still read: the message may be found there.
        failure ??= error;
      }
    }
    if (failure !== undefined) throw failure;
    return isComplete;
  }

  /**
   * Reads the contact list. Callers that wait at the same time share one read.
   * @throws {UpstreamError} if the list could not be read
   */
  readList(account: string): Promise<void> {
    return this.listPolls.run(account);
  }

  /** Makes the recipient's contact due for a poll soon, so that the message of a send is found soon. */
  async expeditePoll(account: string, phoneNumber: string): Promise<void> {
    const { contacts } = await this.store.recipientOf(account, phoneNumber);
    const [likeliest] = contacts;
    // An unknown recipient becomes a new contact: the list contains it, and new contacts are due at once.
    if (likeliest === undefined) await this.store.requestListPoll(account);
    else await this.store.expeditePoll(account, likeliest.id, EXPECTED_WITHIN_MS);
  }

  /**
   * Returns the owners of the number. Reads the contact list first if the last read is too old, or if no
   * contact owns the number.
   */
  private async findWithFreshList(
    account: string,
    phoneNumber: string,
    since: number | undefined,
  ): Promise<Recipient> {
    const recipient = await this.store.recipientOf(account, phoneNumber);
    if (recipient.contacts.length === 0) return this.pollListAndFind(account, phoneNumber);
    if (since === undefined || (recipient.listReadAt ?? -Infinity) >= since) return recipient;
    try {
      return await this.pollListAndFind(account, phoneNumber);
    } catch (error) {
      if (!(error instanceof UpstreamError) || error instanceof UpstreamUnavailableError) throw error;
      // A list that cannot be read must not block the look-up: the messages of known contacts still count.
      return recipient;
    }
  }

  private async pollListAndFind(account: string, phoneNumber: string): Promise<Recipient> {
    await this.listPolls.run(account);
    return this.store.recipientOf(account, phoneNumber);
  }
}

function isNotFound(error: UpstreamError): boolean {
  return error instanceof UpstreamStatusError && (error.status === 404 || error.status === 410);
}

/** Returns true if a trustworthy list confirms that the contact does not exist. */
function isGone({ contacts, isListSuspect }: Recipient, id: string): boolean {
  if (isListSuspect) return false;
  return contacts.find((contact) => contact.id === id)?.isMissing ?? true;
}
