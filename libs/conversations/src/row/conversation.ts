/** What a conversation list shows of one contact, or of a phone number whose contact is not known yet. */
export interface Conversation {
  /** Id of the contact, or the phone number in E.164 form while no contact is known. */
  id: string;
  contactId: string | undefined;
  /** Phone numbers in E.164 form. The phone number of the last message comes first. */
  phoneNumbers: readonly string[];
  /**
   * Phone number whose conversation this one replaced when the contact became known. Undefined if it replaced none.
   */
  replaces: string | undefined;
  /**
   * The last message, or the last send that has no message yet, whichever is newer. Undefined if there is neither.
   */
  last: LastEntry | undefined;
  /** The last message, even if {@link last} is a send. Undefined if there is no message. */
  lastMessage: LastEntry | undefined;
  /** Time of the last message or send, in milliseconds since 1970. Undefined if there was none. */
  lastActivityAt: number | undefined;
  /** Number of unread messages, at most 100. */
  unreadCount: number;
  /**
   * Time of the first inbound message after the last outbound message, in milliseconds since 1970. Undefined if there
   * is no such message.
   */
  waitingSince: number | undefined;
  pendingSends: number;
  failedSends: number;
  /** Increases with every change of the conversation. */
  revision: number;
}

/** The last message of a conversation, or the last send that has no message yet. */
export interface LastEntry {
  kind: 'message' | 'send';
  id: string;
  at: number;
  direction: 'inbound' | 'outbound' | 'other';
  /** Beginning of the text of the message or send, at most 280 characters. Null if there is no text. */
  preview: string | null;
}

/** Position in the list of conversations, which is sorted by last activity and id, the newest first. */
export interface ListPosition {
  /** Time of the last activity in milliseconds since 1970; 0 without any activity. */
  at: number;
  id: string;
}

/** One page of conversations. */
export interface ConversationPage {
  conversations: Conversation[];
  /** Position after which the next page begins. Undefined at the end of the list. */
  next: ListPosition | undefined;
}

/** The operations on the conversations of an account: list, search, read, and mark messages as seen. */
export interface Conversations {
  /** Returns a page of conversations, the newest first. */
  list(account: string, limit: number, after?: ListPosition): Promise<ConversationPage>;

  /**
   * Returns a page of the conversations that match a query, the newest first. The number of conversations that a
   * search examines is limited: of too many, those with the latest activity are examined.
   */
  search(account: string, query: string, limit: number, after?: ListPosition): Promise<ConversationPage>;

  /**
   * Returns a page of the conversations with these ids, the newest first.
   * @param query search text that the conversations must match; undefined if all of these conversations are wanted
   */
  listSome(
    account: string,
    ids: readonly string[],
    query: string | undefined,
    limit: number,
    after?: ListPosition,
  ): Promise<ConversationPage>;

  /**
   * Returns the conversations with these ids, in the order of the ids, each only once. An unknown id is left out. If
   * an id is the phone number of a contact, the contact's conversation is returned.
   */
  read(account: string, ids: readonly string[]): Promise<Conversation[]>;

  /**
   * Marks a message, and all inbound messages before it, as seen. Later messages that are already seen stay seen.
   * @returns false if the conversation does not exist, or if its row does not contain the message: a row contains
   * only the last message, the last outbound message, and at most 101 unanswered inbound messages
   */
  markSeen(account: string, id: string, messageId: string): Promise<boolean>;

  /** Returns the ids of the unread messages of a conversation, the oldest first. At most 101. */
  unreadMessages(account: string, id: string): Promise<string[]>;

  /** Marks these messages as seen. Ids of messages that are not unread are ignored. */
  markEachSeen(account: string, id: string, messageIds: readonly string[]): Promise<void>;

  /**
   * Returns the revision of the latest change of any conversation row of the account, or 0 if there was none. The
   * removal of a row is also a change.
   */
  revision(account: string): Promise<number>;

  /** Returns the number of the account's contacts that have a conversation row. */
  countRows(account: string): Promise<number>;
}

/**
 * Returns an empty conversation, for a phone number that no longer has a conversation row.
 * @param revision revision of the latest change of any conversation row of the account
 */
export function emptyConversation(phoneNumber: string, revision: number): Conversation {
  return {
    ...{ id: phoneNumber, contactId: undefined, phoneNumbers: [phoneNumber], replaces: undefined, revision },
    ...{ last: undefined, lastMessage: undefined, lastActivityAt: undefined, waitingSince: undefined },
    ...{ unreadCount: 0, pendingSends: 0, failedSends: 0 },
  };
}
