import type { ClaimedRead } from '#feed';

/** Reads the contacts that were claimed. */
export interface ContactReader {
  /** Reads what is new of it. Whether it is known and that was read and committed, by this read or by one that was faster. */
  pollNews(account: string, contactId: string, read: ClaimedRead): Promise<boolean>;

  /**
   * Reads what is due below those, page by page, each committed by itself; as far as it gets until the signal aborts.
   * Whether it came to its end.
   */
  readDeep(account: string, contactId: string, read: ClaimedRead, signal: AbortSignal): Promise<boolean>;
}
