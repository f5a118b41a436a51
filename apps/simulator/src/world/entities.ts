import type { JsonObject } from '../json.js';
import type { MessageOrigin } from '../ledger-entries.js';

/** A person who exchanges messages with the account. */
export interface Contact {
  id: string;
  /** Number of the contact. Never changes, unlike the id. */
  readonly serial: number;
  readonly phoneNumber: string;
  name: string;
  /** Undocumented fields. They overwrite served fields of the same name. */
  fields: JsonObject;
  /** `hidden`: the contact exists but is not listed yet. */
  state: 'hidden' | 'listed' | 'deleted';
  /** Increases by one with each change. */
  revision: number;
  /** Listed messages, oldest first. */
  messages: Message[];
  /** Number of unread inbound messages among the listed ones. */
  unread: number;
  /** Number of page reads of this contact. */
  reads: number;
}

/**
 * A message. Settings rename the directions `inbound` and `outbound` in replies. Any other direction is
 * served unchanged.
 */
export interface Message {
  readonly id: string;
  readonly serial: number;
  readonly contact: Contact;
  readonly direction: string;
  readonly origin: MessageOrigin;
  readonly from: string;
  readonly to: string;
  /** Number of the send that the message belongs to, or null. */
  readonly sendNumber: number | null;
  text: string;
  /** Time of upstream's clock, including skew, in ms since 1970. */
  timestamp: number;
  service: string;
  attachments: JsonObject[];
  delivered: boolean;
  read: boolean;
  /** Undocumented fields. They overwrite served fields of the same name. */
  fields: JsonObject;
  /** `pending`: accepted but not listed yet. */
  state: 'pending' | 'listed' | 'deleted';
  revision: number;
  /** Position in the order of first listing. 0 while pending. */
  arrival: number;
}
