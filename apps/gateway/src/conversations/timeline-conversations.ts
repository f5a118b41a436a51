import type { TimelineConversation, TimelineConversations } from '#conversations';
import type { FeedStore } from '#feed';
import type { SendHistory } from '#relay';
import { isRecord, phoneNumbersOf } from '#upstream';

/** Finds conversations by what the feed and the relay know, without rows. */
export class StoredTimelineConversations implements TimelineConversations {
  constructor(
    private readonly feed: Pick<FeedStore, 'contactRecord' | 'recipientOf'>,
    private readonly sends: SendHistory,
  ) {}

  async find(account: string, id: string): Promise<TimelineConversation | undefined> {
    const record = await this.feed.contactRecord(account, id);
    if (record === undefined) return this.withoutContact(account, id);
    const raw: unknown = JSON.parse(record.raw);
    const phoneNumbers = isRecord(raw) ? phoneNumbersOf({ id, raw }) : [];
    return { id, contactId: id, phoneNumbers, last: undefined };
  }

  /** Returns the conversation with a recipient of sends who is not in the contact list. */
  private async withoutContact(
    account: string,
    phoneNumber: string,
  ): Promise<TimelineConversation | undefined> {
    const { sends } = await this.sends.sendsTo(account, phoneNumber, 1);
    if (sends.length === 0) return undefined;
    const { contacts } = await this.feed.recipientOf(account, phoneNumber);
    if (contacts.length > 0) return undefined;
    return { id: phoneNumber, contactId: undefined, phoneNumbers: [phoneNumber], last: undefined };
  }
}
