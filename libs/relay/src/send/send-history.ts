import type { Send } from './send.js';
import type { SendRecord } from './send-record.js';
import { toPublicSend } from './send-record.js';

/**
 * A send with the times that decide its position among the messages of a contact. Times are in milliseconds since
 * 1970.
 */
export interface SendWithTimes {
  send: Send;
  /** When the send was stored, by Redis' clock. */
  createdAt: number;
  sendAt?: number;
  /**
   * When the first message of the send was bound. Absent if no message is bound yet, or if an older version of the
   * software bound the message.
   */
  boundAt?: number;
}

/** One page of the sends to a recipient, newest first. */
export interface SendWithTimesPage {
  sends: SendWithTimes[];
  /** Cursor of the next page; absent on the last page. It is a position among all sends of the account. */
  next?: number;
}

/** Reads stored sends: by recipient, by message, or by id. */
export interface SendHistory {
  /** Returns sends to a recipient. @param before the `next` of the previous page */
  sendsTo(account: string, phoneNumber: string, limit: number, before?: number): Promise<SendWithTimesPage>;

  /**
   * Returns at most `limit` sends to a recipient for each of the statuses `scheduled`, `queued`, `relaying`,
   * `accepted`.
   */
  pendingTo(account: string, phoneNumber: string, limit: number): Promise<SendWithTimes[]>;

  /** Returns the ids of the sends that messages of a contact belong to, by message id. */
  sendIdsOf(account: string, contactId: string, messageIds: readonly string[]): Promise<Map<string, string>>;

  /** Returns the stored sends with these ids. */
  byIds(account: string, ids: readonly string[]): Promise<SendWithTimes[]>;
}

/** Returns a stored send in the form that {@link SendHistory} returns. */
export function toSendWithTimes(record: SendRecord): SendWithTimes {
  const { createdAt, sendAt } = record.order;
  const { boundAt } = record.state;
  return {
    send: toPublicSend(record),
    createdAt,
    ...(sendAt === undefined ? {} : { sendAt }),
    ...(boundAt === undefined ? {} : { boundAt }),
  };
}
