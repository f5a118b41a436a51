/** The fields of a message that its conversation row needs. */
export interface RowMessage {
  id: string;
  direction: 'inbound' | 'outbound' | 'other';
  /**
   * Timestamp of the message, converted to Redis' clock, in milliseconds since 1970. A timestamp that is later than
   * the time at which the message was read is replaced by the time of the read. Without a timestamp, the time of the
   * read if the message is new, otherwise 0.
   */
  at: number;
  /** Phone number of the contact in this message, in E.164 form. Absent if the message contains no phone number. */
  phoneNumber?: string;
  /** Beginning of the text. May be absent if the message does not become the last message of the conversation row. */
  preview?: string;
  /** True if the message counts as unread: it is inbound and new, and no baseline contained it. */
  isUnread?: boolean;
  /** Id of the send that the message belongs to. Absent if no such send is known. */
  sendId?: string;
}

/**
 * One change of a contact's conversation row. A commit (the script that stores a contact's snapshot with its events)
 * applies the changes in the given order.
 */
export type RowEntry =
  | { kind: 'message'; message: RowMessage }
  /** The text of a message changed. If the message is not the last one of the conversation row, nothing happens. */
  | { kind: 'text'; id: string; preview: string }
  | { kind: 'deleted'; id: string }
  /**
   * A message that the conversation row already contains was bound to a send. The row then no longer shows the send.
   */
  | { kind: 'bound'; sendId: string; phoneNumber: string }
  /**
   * A new baseline of the contact begins: the conversation row drops its last message and its last outbound message.
   * Unanswered inbound messages stay in the row until all pages of the contact's messages have been read.
   */
  | { kind: 'reset' }
  /**
   * Removes from the conversation row the messages up to the time `upTo` (milliseconds since 1970). The next entries
   * of the commit add the messages that upstream still lists. If a removed message was unread, it is unread when it
   * is added again.
   */
  | { kind: 'replace'; upTo: number };

/** The changes that a commit of a contact's snapshot makes to the contact's conversation row. */
export interface RowUpdate {
  entries: readonly RowEntry[];
  /**
   * True if the commit creates the conversation row. The row is missing if `CONVERSATIONS` was `off` before, or if an
   * earlier version of Tidings, which kept no rows, stored the contact.
   */
  isNew: boolean;
  /** Search words of the contact's fields. Present if {@link isNew} is true. */
  words?: readonly string[];
  /** Phone numbers in the contact's fields, in E.164 form. Present if {@link isNew} is true. */
  fieldNumbers?: readonly string[];
}

export const NO_ROW_UPDATE: RowUpdate = { entries: [], isNew: false };
