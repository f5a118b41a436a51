import type { ContactListPoll } from './contact-list-poll.js';
import type { ContactPoll } from './contact-poll.js';
import type { FeedStore } from './feed-store.js';

/** How soon the contact of a send that upstream just took is read. */
const EXPECT_MS = 250;

/** Reads the messages of a recipient when a send asks for it. */
export class RecipientLookup {
  constructor(
    private readonly store: FeedStore,
    private readonly contacts: ContactListPoll,
    private readonly messages: ContactPoll,
  ) {}

  /**
   * Reads the recipient's messages now; they are bound to sends on the way. Whether the look was complete: the
   * recipient's contact was read, or the list was read and has no contact for the number.
   * @throws {UpstreamError} if upstream could not be read
   */
  async lookUp(account: string, phoneNumber: string): Promise<boolean> {
    const contactId =
      (await this.store.contactOf(account, phoneNumber)) ?? (await this.refresh(account, phoneNumber));
    if (contactId === undefined) return true;
    return this.messages.pollNews(account, contactId, 'lookup');
  }

  /** Sees to it that a message to this recipient is noticed soon. */
  async expect(account: string, phoneNumber: string): Promise<void> {
    const contactId = await this.store.contactOf(account, phoneNumber);
    // A recipient without a contact will have one: the list shows it, and a new contact is read at once.
    if (contactId === undefined) await this.store.wishForList(account);
    else await this.store.hasten(account, contactId, EXPECT_MS);
  }

  private async refresh(account: string, phoneNumber: string): Promise<string | undefined> {
    await this.contacts.poll(account, 'lookup');
    return this.store.contactOf(account, phoneNumber);
  }
}
