import type { TimeLimit } from '#platform';
import type { Admission, UpstreamSend } from '#upstream';

/** Posts sends to the upstream service of an account. */
export interface Sender {
  /** Returns the stamp of the account's upstream address, or undefined if the address is not known. */
  addressOf(account: string): Promise<string | undefined>;

  /**
   * Resolves when the account's budget allows one request.
   * @throws {BudgetExhaustedError}
   * @throws {UpstreamUnavailableError} while the account's requests are held
   */
  admit(account: string): Promise<Admission>;

  /** True if the account's requests are held, because upstream is unavailable or refuses the account. */
  isHeld(account: string): Promise<boolean>;

  /**
   * Makes one POST, without retries.
   * @param limit deadline for the start of the POST; after the deadline not a byte is sent
   * @param admission the result of {@link admit}
   * @param address stamp of the expected address; the POST is not made if the account's address has changed
   * @throws {UpstreamError}; {@link UpstreamUnavailableError} and {@link UpstreamTooLateError} mean that no POST was
   * made
   */
  post(
    account: string,
    send: UpstreamSend,
    limit: TimeLimit,
    admission: Admission,
    address: string | undefined,
  ): Promise<void>;
}

/** Options of a look-up of a recipient's messages. */
export interface LookUpOptions {
  /**
   * Time after which the contact list must have been read, in milliseconds since 1970 by Redis' clock. An older list
   * makes the look-up incomplete. Absent: the age of the list does not matter.
   */
  minListReadAt?: number;
  /**
   * True if new sends use the budget before this look-up. Used if upstream already accepted the send and no lane waits.
   */
  isLowPriority?: boolean;
}

/** Reads the messages and contacts of recipients. */
export interface Lookup {
  /**
   * Reads the messages of a recipient now, and binds them to sends. Returns true if the look-up was complete.
   * @throws {UpstreamError} if upstream could not be read
   */
  lookUp(account: string, phoneNumber: string, options?: LookUpOptions): Promise<boolean>;

  /**
   * Reads the contact list.
   * @throws {UpstreamError} if the contact list could not be read
   */
  readList(account: string): Promise<void>;

  /** Schedules an early poll of the recipient, so that a new message is noticed soon. */
  expeditePoll(account: string, phoneNumber: string): Promise<void>;
}

/** Wakes the workers of lanes. A lost hint costs only time, because the store knows which lanes are due. */
export interface RelayJobs {
  wake(account: string, lanes: readonly string[], delayMs?: number): Promise<void>;
}
