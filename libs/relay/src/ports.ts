import type { TimeLimit } from '#platform';
import type { BudgetTokenRenewal, PostToken, UpstreamMessage, UpstreamSend } from '#upstream';

/** What the relay must know about an account before it posts a send of the account. */
export interface SendingAccount {
  /** Hash of the account's upstream address; undefined if the address is not known. */
  address: string | undefined;
  /** The account's request budget. */
  requestsPerSecond: number;
}

/** Posts sends to upstream, the messaging service of an account. */
export interface Sender {
  /** Reads the account's upstream address and request budget. */
  accountOf(account: string): Promise<SendingAccount>;

  /**
   * Waits for a token of the account's request budget, and takes it. Resolves to a function that replaces the token
   * if it has expired.
   * @throws {BudgetExhaustedError} if the budget has no token in time
   * @throws {UpstreamUnavailableError} during an outage, when requests for the account are suspended
   */
  takeBudgetToken(account: string): Promise<BudgetTokenRenewal>;

  /** Resolves to true during an outage of the account: requests for the account are then suspended. */
  isHeld(account: string): Promise<boolean>;

  /**
   * Makes one POST, without retries.
   * @param limit deadline for the start of the POST; after the deadline, no connection is opened for the POST
   * @param token the result of {@link takeBudgetToken}; or, if `LaneStore.fence` took the token, the time at which
   *   `LaneStore.fence` was called
   * @param address hash of the expected upstream address; the POST is not made if the account's address has changed
   * @throws {UpstreamError | BudgetExhaustedError}; {@link BudgetExhaustedError}, {@link UpstreamUnavailableError}
   * and {@link UpstreamRequestNotSentError} mean that no POST was made
   */
  post(
    account: string,
    send: UpstreamSend,
    limit: TimeLimit,
    token: PostToken,
    address: string | undefined,
  ): Promise<void>;
}

/** What a look-up has read so far. */
export interface LookupReads {
  /** The contacts whose messages the look-up read or tried to read. */
  readonly contactIds: readonly string[];
  /** Number of messages that the look-up read. A message that it read twice counts twice. */
  readonly messagesRead: number;
  /**
   * Adds one page of a contact's messages to what the look-up has read. Called before the messages are bound to
   * sends.
   * @param upstreamAheadMs how far upstream's clock is ahead of Redis' clock, in milliseconds; 0 if unknown
   */
  add(contactId: string, messages: readonly UpstreamMessage[], upstreamAheadMs: number): void;
}

/** Options for reading a recipient's messages. */
export interface LookupOptions {
  /**
   * If the last read of the contact list was earlier than this time (in milliseconds since 1970 by Redis' clock), the
   * list is read again first. If the list cannot be read, only the messages of contacts that are already known are
   * read. Absent: the age of the list does not matter. The list is always read first if no contact of the recipient
   * is known.
   */
  minListReadAt?: number;
  /**
   * If true, the read counts as complete only if three further conditions are met: the contact list was read at
   * {@link minListReadAt} or later; the list contains all known contacts of the recipient; and if there are none, the
   * list is not suspected to be incomplete because of an outage. Used if the send is to be posted after its look-ups.
   */
  isListRequired?: boolean;
  /**
   * If given, the account's unidentified contacts (contacts for which neither a phone number nor a message is known)
   * are read too. The look-up then counts as complete only if each of these contacts was last read at or after the
   * given time, in milliseconds since 1970 by Redis' clock. If the account has more than 20 such contacts, they are
   * not read, and the look-up can be complete without them.
   */
  minUnidentifiedReadAt?: number;
  /**
   * True if new sends take precedence over this look-up in the request budget. Used when no queued send waits for the
   * look-up.
   */
  isLowPriority?: boolean;
  /** An object to which the look-up adds what it reads, even if the look-up fails later. */
  reads?: LookupReads;
}

/** Looks up sends: reads the messages of recipients and the contact list from upstream, and requests early polls. */
export interface Lookup {
  /**
   * Reads the messages of a recipient now, and records which send each message belongs to. Returns false if the read
   * was incomplete: a message that was not found may then still exist.
   * @throws {UpstreamError} if upstream could not be read
   * @throws {BudgetExhaustedError} if the budget has no token in time
   */
  lookUp(account: string, phoneNumber: string, options?: LookupOptions): Promise<boolean>;

  /**
   * Reads the account's contact list from upstream.
   * @throws {UpstreamError} if the contact list could not be read
   * @throws {BudgetExhaustedError} if the budget has no token in time
   */
  readList(account: string): Promise<void>;

  /** Makes the next poll of the recipient's messages happen earlier, so that a new message is noticed soon. */
  expeditePoll(account: string, phoneNumber: string): Promise<void>;
}

/**
 * Wakes workers to process lanes (recipients' queues of sends). A wake-up that is lost only costs time, because Redis
 * records which lanes are due.
 */
export interface RelayJobs {
  /**
   * Wakes workers to process these lanes after `delayMs` milliseconds (default: 0).
   * @param lanes the recipients (phone numbers) of the lanes
   */
  wake(account: string, lanes: readonly string[], delayMs?: number): Promise<void>;
}
