import type { ClaimedRead } from '#feed';

/** Reads the newest messages of a contact. */
export interface HeadReader {
  /** Whether the contact is known and was read and committed, by this read or by one that was faster. */
  poll(account: string, contactId: string, read: ClaimedRead): Promise<boolean>;
}

/** Goes through the old messages of a contact, page by page, each committed by itself. */
export interface DeepReader {
  /** Resolves when it is done, or as far as it got when `read.signal` aborts. */
  run(account: string, contactId: string, read: ClaimedRead): Promise<void>;
}

/** Knows when an account is to be looked at again. */
export interface PollAgenda {
  /** Nobody of the account is due before this; in milliseconds since 1970, by Redis' clock. */
  at(account: string, dueAtMs: number): Promise<void>;
}
