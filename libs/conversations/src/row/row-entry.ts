/** A message of a contact, as far as the row of its conversation needs it. */
export interface RowMessage {
  id: string;
  direction: 'inbound' | 'outbound' | 'other';
  /** The earlier of the message's timestamp and the time when it was first read, in milliseconds since 1970. */
  at: number;
  /** Phone number of the contact in this message, in E.164 form. Absent if the message shows none. */
  phoneNumber?: string;
  /** Beginning of the text. May be absent if a later message is put into the row with the same commit. */
  preview?: string;
  /** True if the message counts as unread: it is inbound and new, and no baseline contained it. */
  isUnread?: boolean;
  /** Id of the send that the message belongs to. */
  sendId?: string;
}

/** One change of a contact's row. The changes of a commit are applied in their order. */
export type RowEntry =
  | { kind: 'message'; message: RowMessage }
  /** The text of a message changed. Only the last message of a row is affected. */
  | { kind: 'text'; id: string; preview: string }
  | { kind: 'deleted'; id: string }
  /** A message that the row already knows was bound to a send: the row no longer shows the send. */
  | { kind: 'bound'; sendId: string; phoneNumber: string }
  /** The messages of a new baseline follow. Unread messages stay until the read of all pages has ended. */
  | { kind: 'reset' }
  /**
   * All messages that upstream showed follow, so that the row forgets those up to this time, in milliseconds since
   * 1970. Messages that were unread stay unread if they follow.
   */
  | { kind: 'replace'; upTo: number };

/** What a commit changes about the row of a contact. */
export interface RowUpdate {
  entries: readonly RowEntry[];
  /** True if the contact had no row yet, because an earlier build stored the contact. */
  isNew: boolean;
  /** Search words of the contact's fields. Present if the row is new. */
  words?: readonly string[];
  /** Phone numbers in the contact's fields, in E.164 form. Present if the row is new. */
  fieldNumbers?: readonly string[];
}

export const NO_ROW_UPDATE: RowUpdate = { entries: [], isNew: false };
