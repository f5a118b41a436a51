import type { NewEvent } from '#events';
import type { ListedContact } from '../snapshot/listed-contacts.js';
import type { UnreadableElementHistory } from '../snapshot/unreadable-elements.js';

/**
 * A contact whose snapshot must be stored: it is new, changed or missing from the contact list, has reappeared in the
 * list, or must be scheduled for a poll.
 */
export interface ContactUpdate {
  id: string;
  listed: ListedContact;
  /**
   * The contact as upstream sent it, in JSON. Absent if the stored JSON stays: the contact is missing from the list
   * or unchanged, or only muted, formerly muted or withheld fields changed.
   */
  raw?: string;
  /** Phone numbers in the contact's fields, in E.164 format. Empty if the contact is missing from the list. */
  numbers: readonly string[];
  /**
   * `all`: the search words of the contact's fields. `removed`: words that the fields no longer contain. Absent if
   * {@link raw} is absent.
   */
  words?: { all: readonly string[]; removed: readonly string[] };
  /**
   * Used only if the contact is new: the first read of the contact emits events for messages whose timestamp is later
   * than this time (milliseconds since 1970 by upstream's clock); see `FirstReadEventRule`.
   */
  emitAfter?: number;
  /** The event that reports the change of the contact. Absent if the change emits no event. */
  event?: NewEvent;
}

/** The result of one read of the contact list, as it is passed to `FeedStore.commitContacts`. */
export interface ListCommit {
  /**
   * Values of `ContactListSnapshot.version` and `ContactListSnapshot.redisRun` when the read of the contact
   * list started.
   */
  version: number;
  redisRun: string;
  /** When the read of the contact list started, in milliseconds since 1970 by Redis' clock. */
  startedAt: number;
  /** New value of `ContactListSnapshot.listedAt`, in milliseconds since 1970 by upstream's clock. */
  listedAt: number;
  /** New values of `ContactListSnapshot.skipped` and `ContactListSnapshot.unreadable`. */
  skipped: number;
  unreadable: UnreadableElementHistory;
  /**
   * `upstream` is the hash of the upstream address from which the list was read. `service` is the hash of the
   * earliest known address of the same messaging service.
   */
  upstream: string;
  service: string;
  /**
   * The contacts to store. They are committed in batches. If the iteration throws or a batch is refused, earlier
   * batches may already be committed, but the contact list does not count as read.
   */
  updates: Iterable<ContactUpdate> | AsyncIterable<ContactUpdate>;
  /**
   * When a read of the contact list first found so many contacts missing that an outage is likely, in
   * milliseconds since 1970 by Redis' clock. Absent if no outage is likely.
   */
  suspectSince?: number;
  /**
   * True if the new contacts of the list emit no events, because they may be known contacts with new ids; see
   * `ContactListComparison.isReplaced`.
   */
  isReplaced: boolean;
  /** Events that concern the account as a whole instead of one contact. */
  events: readonly NewEvent[];
}
