import type { TimeLimit } from '#platform';
import type { Readable } from 'node:stream';
import type { BudgetTokenRenewal } from './budget/budget-token-renewal.js';
import type { ContactList, ContactReader } from './reply/contact-list.js';
import type { UpstreamMessage } from './reply/message.js';
import type { ParsedList } from './reply/reply-list.js';

/** Address and API key of an account's upstream. */
export interface UpstreamAddress {
  /** Base URL of upstream's API, including its path such as `/v1`, without a trailing slash. */
  baseUrl: string;
  apiKey: string;
  /** Id of the account, if the request belongs to an account. It is used for metrics, and is not sent to upstream. */
  id?: string;
  /**
   * Replaces an expired token of the budget. Must be awaited right before the request is sent. See
   * {@link BudgetTokenRenewal}.
   */
  tokenRenewal?: BudgetTokenRenewal;
}

/** A file that is posted with a send. */
export interface UpstreamFile {
  name: string;
  contentType: string;
  /** Size of the file, in bytes. */
  size: number;
  content: Readable;
}

/** The fields of a POST to upstream. At least one of `message`, `file` and `fileUrl` is present. */
export interface UpstreamSend {
  /** Recipient's phone number, in E.164 form. */
  phoneNumber: string;
  type: string;
  message?: string;
  fileUrl?: string;
  /** Additional form fields, by name. Their names must differ from those of the other fields, such as `message`. */
  extraFields?: Readonly<Record<string, string>>;
  file?: UpstreamFile;
}

/** One page of a contact's messages. */
export interface MessagePage extends ParsedList<UpstreamMessage> {
  /** When upstream answered, in milliseconds since 1970 by upstream's clock. Absent if the reply has no date. */
  date?: number;
  /**
   * When the headers of the reply arrived, by `performance.now()`. The body may have been read much later. Absent if
   * the page was put together from several replies.
   */
  arrivedAt?: number;
  /** Hash of the body of the reply. Absent if the page was put together from several replies. */
  digest?: string;
  /**
   * True if the page was not parsed, because its digest equals the one that the caller passed. `items` is then empty.
   */
  isUnchanged?: true;
}

/** Query parameters of a request, in the order in which they are sent. A name may occur more than once. */
export type UpstreamQuery = readonly (readonly [name: string, value: string])[];

/**
 * Upstream's HTTP API. Each call makes one request without retries. A call fails if upstream takes longer than the
 * configured timeout. A failed call rejects with an {@link UpstreamError}, whose subclass says how the call failed;
 * or with the error of the token renewal.
 */
export interface Upstream {
  /**
   * Posts a send to upstream. Resolves when upstream has answered that the send is queued.
   * @param limit time limit for the start of the exchange; when it is over, no connection is opened
   * @throws {UpstreamRequestNotSentError} if the request was not written, for example because the time limit was over
   */
  send(address: UpstreamAddress, send: UpstreamSend, limit?: TimeLimit): Promise<void>;

  /**
   * Reads the contact list as a stream, and passes each contact to a reader. The caller must close the list.
   * @param newReader creates a reader; called for each array of the reply, because only the end of the reply shows
   * which array holds the contacts
   */
  listContacts<R extends ContactReader>(
    address: UpstreamAddress,
    newReader: () => R,
  ): Promise<ContactList<R>>;

  /**
   * Reads one page of a contact's messages.
   * @param page number of the page, from 1
   * @param limit maximum number of messages in the page
   * @param knownDigest {@link MessagePage.digest} of this page from an earlier read; an unchanged page is not parsed
   */
  listMessages(
    address: UpstreamAddress,
    contactId: string,
    page: number,
    limit: number,
    knownDigest?: string,
  ): Promise<MessagePage>;

  /** Reads the contact list. Resolves to upstream's JSON text, unchanged. */
  readContactsText(address: UpstreamAddress, query: UpstreamQuery): Promise<string>;

  /** Reads a page of a contact's messages. Resolves to upstream's JSON text, unchanged. */
  readMessagesText(address: UpstreamAddress, contactId: string, query: UpstreamQuery): Promise<string>;
}
