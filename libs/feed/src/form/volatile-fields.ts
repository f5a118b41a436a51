import type { VolatileContactFields } from './volatile-contact-fields.js';

/**
 * A muted field as shown by `GET /v1/status`: it changes at nearly every read, so its changes emit no events.
 */
export interface VolatileField {
  of: 'message' | 'contact';
  field: string;
  /**
   * For a message field, the number of contacts in whose messages the field is muted. If a worker is killed,
   * this number may become wrong by one. For a contact field, the number of all contacts on the contact list,
   * because a contact field is muted for all of them.
   */
  contacts: number;
}

/**
 * Stores which contact fields of an account are volatile, and for how many contacts each message field is
 * muted. Which message fields are volatile is stored separately with each contact.
 */
export interface VolatileFieldStore {
  contactVolatility(account: string): Promise<VolatileContactFields>;

  /**
   * Stores which contact fields are volatile. Call this method after the contact list was committed.
   * @param contacts number of contacts on the list
   */
  storeContactVolatility(account: string, volatility: VolatileContactFields, contacts: number): Promise<void>;

  /**
   * Updates, for each message field, the number of contacts for which the field is muted. Call this method
   * after the poll of a contact was committed.
   * @param change names of the message fields that became muted or unmuted for the contact
   */
  countMessageFields(
    account: string,
    change: { muted: readonly string[]; unmuted: readonly string[] },
  ): Promise<void>;

  /**
   * Returns the muted fields of an account. If there are more than 20, returns the 20 fields that are muted for the
   * most contacts. Fields that are muted for more contacts come first.
   */
  volatileFields(account: string): Promise<VolatileField[]>;
}
