import type { JsonObject } from '../json.js';
import type { MessageOrigin } from '../ledger-entries.js';

/** A person the account exchanges messages with. */
export interface Contact {
  id: string;
  /** Never changes, unlike the id. */
  readonly serial: number;
  readonly phoneNumber: string;
  name: string;
  /** Undocumented fields, laid over what is served. */
  fields: JsonObject;
  /** `hidden`: exists, but is not listed yet. */
  state: 'hidden' | 'listed' | 'deleted';
  /** Goes up by one with each change. */
  revision: number;
  /** Those that are listed, oldest first. */
  messages: Message[];
  /** Inbound ones among them that are not read. */
  unread: number;
  /** How many pages were read of this contact. */
  reads: number;
}

/** `inbound` and `outbound` are renamed on the wire by the settings; any other word is served as it is. */
export interface Message {
  readonly id: string;
  readonly serial: number;
  readonly contact: Contact;
  readonly direction: string;
  readonly origin: MessageOrigin;
  readonly from: string;
  readonly to: string;
  /** Of the accepted send it belongs to. */
  readonly sendNumber: number | null;
  text: string;
  /** In ms since 1970, by upstream's own (perhaps skewed) clock. */
  timestamp: number;
  service: string;
  attachments: JsonObject[];
  delivered: boolean;
  read: boolean;
  /** Undocumented fields, laid over what is served. */
  fields: JsonObject;
  /** `pending`: accepted, not listed yet. */
  state: 'pending' | 'listed' | 'deleted';
  revision: number;
  /** When it was first listed, as a count; 0 while pending. */
  arrival: number;
}
