import type { ClaimedRead } from '#feed';

/** Reads the messages of claimed contacts. */
export interface ClaimedContactReader {
  /**
   * Reads and commits the new messages of a contact. Returns true if the contact is known and this read, or a
   * faster concurrent read, was committed.
   */
  pollNewMessages(account: string, contactId: string, read: ClaimedRead): Promise<boolean>;

  /**
   * Reads the due older pages of a contact. Commits each page separately, until the signal aborts. Returns
   * true if the last due page was read.
   */
  runDeepRead(account: string, contactId: string, read: ClaimedRead, signal: AbortSignal): Promise<boolean>;
}
