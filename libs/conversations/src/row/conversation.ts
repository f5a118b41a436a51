/** What a conversation list shows of one contact, or of a phone number to which no contact is known yet. */
export interface Conversation {
  /** Id of the contact, or the phone number in E.164 form while no contact is known. */
  id: string;
  contactId: string | undefined;
  /** The most recently used first. */
  phoneNumbers: readonly string[];
  /** The phone number whose conversation this one replaced. */
  replaces: string | undefined;
  /** The last message or send without a message: the one with the greatest time and id. */
  last: LastEntry | undefined;
  /** The last message. */
  lastMessage: LastEntry | undefined;
  /** Time of the last message or send, in milliseconds since 1970. Undefined if there was none. */
  lastActivityAt: number | undefined;
  /** Number of inbound messages that are not yet seen, at most 100. */
  unreadCount: number;
  /** Time of the first inbound message after the last outbound one, in milliseconds since 1970. */
  waitingSince: number | undefined;
  pendingSends: number;
  failedSends: number;
  /** Increases with every change of the conversation. */
  revision: number;
}

/** The last message of a conversation, or its last send without a message. */
export interface LastEntry {
  kind: 'message' | 'send';
  id: string;
  at: number;
  direction: 'inbound' | 'outbound' | 'other';
  /** Beginning of the text, at most 280 characters. Null without a text. */
  preview: string | null;
}

/** Position in the list of conversations, which is sorted by last activity and id, the newest first. */
export interface ListPosition {
  /** Time of the last activity in milliseconds since 1970, or 0. */
  at: number;
  id: string;
}

/** One page of conversations. */
export interface ConversationPage {
  conversations: Conversation[];
  /** Position after which the next page begins. Undefined at the end of the list. */
  next: ListPosition | undefined;
}

/** Reads the conversations of an account, and marks them as seen. */
export interface Conversations {
  /** Returns a page of conversations, the newest first. */
  list(account: string, limit: number, after?: ListPosition): Promise<ConversationPage>;

  /** Returns a page of the conversations that match a query, the newest first. */
  search(account: string, query: string, limit: number, after?: ListPosition): Promise<ConversationPage>;

  /**
   * Returns a page of some conversations, the newest first.
   * @param query returns only those that match this query
   */
  listSome(
    account: string,
    ids: readonly string[],
    query: string | undefined,
    limit: number,
    after?: ListPosition,
  ): Promise<ConversationPage>;

  /**
   * Returns the conversations with these ids, in this order. An unknown id is left out. The phone number of a contact
   * leads to the conversation of the contact.
   */
  read(account: string, ids: readonly string[]): Promise<Conversation[]>;

  /**
   * Marks the inbound messages up to a position as seen. Messages are never marked as unseen.
   * @param upTo id of a message, and its time in milliseconds since 1970. The time is used only if the row does not
   * contain the message. Without a time, only a message that the row contains is accepted.
   * @returns false if the conversation or the message is unknown
   */
  markSeen(account: string, id: string, upTo: { id: string; at?: number }): Promise<boolean>;

  /**
   * Returns a number that is greater than the revision of every row that has disappeared, and less than or equal to the
   * revisions of later changes.
   */
  revision(account: string): Promise<number>;

  /** Returns the number of contacts of the account with a row. */
  countRows(account: string): Promise<number>;
}

/** Returns the conversation of a phone number of which nothing is left. */
export function emptyConversation(phoneNumber: string, revision: number): Conversation {
  return {
    ...{ id: phoneNumber, contactId: undefined, phoneNumbers: [phoneNumber], replaces: undefined, revision },
    ...{ last: undefined, lastMessage: undefined, lastActivityAt: undefined, waitingSince: undefined },
    ...{ unreadCount: 0, pendingSends: 0, failedSends: 0 },
  };
}
