import type { TimeLimit } from '#platform';
import type { Admission, UpstreamSend } from '#upstream';

/** Hands sends to one account's upstream. */
export interface Sender {
  /** The stamp of the address that the account's requests go to; undefined where any will do. */
  addressOf(account: string): Promise<string | undefined>;

  /**
   * Resolves when one request may leave within the account's budget.
   * @throws {BudgetExhaustedError}
   * @throws {UpstreamUnavailableError} while the account's requests are held
   */
  admit(account: string): Promise<Admission>;

  /** Whether the account's requests are held, for upstream is away or lets the account in no more. */
  isHeld(account: string): Promise<boolean>;

  /**
   * One POST, never repeated.
   * @param limit once it is over not a byte of it leaves
   * @param admission what {@link admit} answered
   * @param address where it is to go, as {@link addressOf} says; it is not made if the account's is another one by then
   * @throws {UpstreamError}; {@link UpstreamUnavailableError} and {@link UpstreamTooLateError} say that it was not made
   */
  post(
    account: string,
    send: UpstreamSend,
    limit: TimeLimit,
    admission: Admission,
    address: string | undefined,
  ): Promise<void>;
}

/** How a recipient is looked at. */
export interface LookOptions {
  /**
   * Since when the contact list should have been read for the look to be complete, by Redis' clock; absent where any list
   * will do.
   */
  listSince?: number;
  /** Whether new sends go first: upstream took what is looked for, and no lane waits for it. */
  yields?: boolean;
}

/** Reads the messages of a recipient. */
export interface Lookup {
  /**
   * Reads them now; messages are bound to sends on the way. Whether the look was complete.
   * @throws {UpstreamError} if upstream could not be read
   */
  lookUp(account: string, phoneNumber: string, options?: LookOptions): Promise<boolean>;

  /**
   * Reads the contact list.
   * @throws {UpstreamError} if it could not be read
   */
  readList(account: string): Promise<void>;

  /** Sees to it that a message to this recipient is noticed soon. */
  expect(account: string, phoneNumber: string): Promise<void>;
}

/** Hints that lanes may have work. A lost hint costs time only: what is due stands in the store. */
export interface RelayJobs {
  wake(account: string, lanes: readonly string[], delayMs?: number): Promise<void>;
}
