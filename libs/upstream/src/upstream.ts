import type { TimeLimit } from '#platform';
import type { Readable } from 'node:stream';
import type { Admission } from './budget/admission.js';
import type { ContactList, ContactReader } from './reply/contact-list.js';
import type { UpstreamMessage } from './reply/message.js';
import type { ParsedList } from './reply/reply-list.js';

/** Where an account's upstream is. */
export interface UpstreamAddress {
  /** `/v1` included, without a trailing slash. */
  baseUrl: string;
  apiKey: string;
  /** Awaited right before the request is written; see {@link Admission}. */
  admission?: Admission;
}

/** A file that goes with a send. */
export interface UpstreamFile {
  name: string;
  contentType: string;
  /** Bytes. */
  size: number;
  content: Readable;
}

/** What is asked of upstream. At least one of `message`, `file`, `fileUrl`. */
export interface UpstreamSend {
  /** E.164. */
  phoneNumber: string;
  type: string;
  message?: string;
  fileUrl?: string;
  /** Further parts of the form, by name; none of those above is among them. */
  extraFields?: Readonly<Record<string, string>>;
  file?: UpstreamFile;
}

/** A stretch of a contact's messages. */
export interface MessagePage extends ParsedList<UpstreamMessage> {
  /** Upstream's clock when it answered, in milliseconds since 1970, if it said so. */
  date?: number;
}

/** Query parameters, in order; a name may come more than once. */
export type UpstreamQuery = readonly (readonly [name: string, value: string])[];

/**
 * The upstream service: one request a call, never repeated by itself.
 * Every call ends within the deadline, and fails with an {@link UpstreamError} of the stage that it reached.
 */
export interface Upstream {
  /**
   * Resolves once upstream has queued the send.
   * @param limit once it is over not a byte of it leaves
   * @throws {UpstreamTooLateError} then
   */
  send(address: UpstreamAddress, send: UpstreamSend, limit?: TimeLimit): Promise<void>;

  /** Shows the contact list to a reader while it comes. To be closed. @param newReader see {@link ContactListReader} */
  listContacts<R extends ContactReader>(
    address: UpstreamAddress,
    newReader: () => R,
  ): Promise<ContactList<R>>;

  /** @param page counts from 1 */
  listMessages(
    address: UpstreamAddress,
    contactId: string,
    page: number,
    limit: number,
  ): Promise<MessagePage>;

  /** The contact list as the text of a JSON value, as upstream wrote it. */
  showContacts(address: UpstreamAddress, query: UpstreamQuery): Promise<string>;

  /** A page of a contact's messages as the text of a JSON value, as upstream wrote it. */
  showMessages(address: UpstreamAddress, contactId: string, query: UpstreamQuery): Promise<string>;
}
