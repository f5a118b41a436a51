import type { ContactVolatility } from './contact-volatility.js';

/** A muted field, as `GET /v1/status` shows it. */
export interface VolatileField {
  of: 'message' | 'contact';
  field: string;
  /**
   * Number of contacts concerned: contacts that have the field, or contacts in whose messages the field is muted. May be
   * too low by one for each process that was killed between a commit and the count.
   */
  contacts: number;
}

/** Stores the account-wide state of volatile fields. The state of a contact's messages is stored with the contact. */
export interface VolatileFieldStore {
  contactVolatility(account: string): Promise<ContactVolatility>;

  /** Stores the state. Call after the commit of the list. @param contacts number of contacts on the list */
  storeContactVolatility(account: string, volatility: ContactVolatility, contacts: number): Promise<void>;

  /** Counts message fields that became muted or unmuted for one contact. Call after the commit. */
  countMessageFields(
    account: string,
    change: { muted: readonly string[]; unmuted: readonly string[] },
  ): Promise<void>;

  /** Returns the account's muted fields, at most 20, sorted by the number of contacts concerned, highest first. */
  volatileFields(account: string): Promise<VolatileField[]>;
}
