/** Snapshot of one contact in the contact list. */
export interface ListedContact {
  /**
   * Hash of the contact's fields that are not muted, in hexadecimal. A different hash shows that a field has changed.
   * Empty if the stored hash was damaged.
   */
  fingerprint: string;
  /**
   * When the first read of the contact list that did not contain this contact ended, in milliseconds since 1970 by
   * Redis' clock. If the contact went missing during a suspected outage, this time is set again when the suspicion
   * ends. Absent if the last list contained the contact, and for a deleted contact.
   */
  missingSince?: number;
  /**
   * True if the event `contact.deleted` was emitted for this contact. The snapshot is kept, so that the
   * contact is recognized if it appears in the list again.
   */
  deleted: boolean;
}

const INITIAL_CAPACITY = 64;
const FINGERPRINT_BYTES = 8;
/** Number of bytes stored for each contact: status bits (1 byte), then the fingerprint. */
const ENTRY_BYTES = 1 + FINGERPRINT_BYTES;
const DELETED = 1;
/** Status bit of a contact whose stored fingerprint was damaged. */
const FINGERPRINT_DAMAGED = 2;

/**
 * Snapshots of the contacts in an account's contact list, by contact id. They are stored compactly, because
 * an account may have a million contacts.
 */
export class ListedContacts implements Iterable<[id: string, contact: ListedContact]> {
  private readonly ordinals = new Map<string, number>();
  private readonly missing = new Map<number, number>();
  private entries = Buffer.alloc(INITIAL_CAPACITY * ENTRY_BYTES);

  static of(contacts: Iterable<readonly [id: string, contact: ListedContact]>): ListedContacts {
    const listed = new ListedContacts();
    for (const [id, contact] of contacts) listed.set(id, contact);
    return listed;
  }

  get size(): number {
    return this.ordinals.size;
  }

  /**
   * Returns the index of a contact in the order in which contacts were added, counted from 0. Returns
   * undefined for a contact that was not added.
   */
  ordinalOf(id: string): number | undefined {
    return this.ordinals.get(id);
  }

  get(id: string): ListedContact | undefined {
    const ordinal = this.ordinals.get(id);
    return ordinal === undefined ? undefined : this.at(ordinal);
  }

  set(id: string, { fingerprint, deleted, missingSince }: ListedContact): void {
    const ordinal = this.ordinals.get(id) ?? this.ordinals.size;
    this.ordinals.set(id, ordinal);
    const start = ordinal * ENTRY_BYTES;
    if (start === this.entries.length)
      this.entries = Buffer.concat([this.entries, Buffer.alloc(this.entries.length)]);
    const written = this.entries.write(fingerprint, start + 1, FINGERPRINT_BYTES, 'hex');
    this.entries[start] = (deleted ? DELETED : 0) | (written < FINGERPRINT_BYTES ? FINGERPRINT_DAMAGED : 0);
    if (missingSince === undefined) this.missing.delete(ordinal);
    else this.missing.set(ordinal, missingSince);
  }

  keys(): Iterable<string> {
    return this.ordinals.keys();
  }

  *[Symbol.iterator](): Iterator<[id: string, contact: ListedContact]> {
    for (const [id, ordinal] of this.ordinals) yield [id, this.at(ordinal)];
  }

  private at(ordinal: number): ListedContact {
    const start = ordinal * ENTRY_BYTES;
    const statusBits = this.entries[start] ?? 0;
    const missingSince = this.missing.get(ordinal);
    return {
      fingerprint:
        (statusBits & FINGERPRINT_DAMAGED) === 0
          ? this.entries.toString('hex', start + 1, start + ENTRY_BYTES)
          : '',
      deleted: (statusBits & DELETED) !== 0,
      ...(missingSince === undefined ? {} : { missingSince }),
    };
  }
}
