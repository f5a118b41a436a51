import type { ContactVolatility } from './contact-volatility.js';

/** A field that is muted, as `GET /v1/status` shows it. */
export interface VolatileField {
  of: 'message' | 'contact';
  field: string;
  /**
   * Of how many contacts: for a field of messages, those in whose messages it is muted. A process that is killed between
   * a commit and the count of it leaves the count behind by one.
   */
  contacts: number;
}

/** What is remembered, beside what stands with each contact, of an account's volatile fields. */
export interface VolatileFieldStore {
  contactVolatility(account: string): Promise<ContactVolatility>;

  /** To be called after the list from which it was learned was committed. @param contacts how many the list showed */
  keepContactVolatility(account: string, volatility: ContactVolatility, contacts: number): Promise<void>;

  /** Counts fields that were muted in one contact's messages, or are heard again. To be called after the commit. */
  countMessageFields(
    account: string,
    change: { muted: readonly string[]; heard: readonly string[] },
  ): Promise<void>;

  /** All muted fields of an account, at most 20, those of most contacts first. */
  volatileFields(account: string): Promise<VolatileField[]>;
}
