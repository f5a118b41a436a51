import type { ContactReader, UpstreamContact } from '#upstream';
import type { KnownContacts, ListedContact } from './feed-store.js';

/** Stands for the position of a contact that is as it was. */
const UNCHANGED = -1;

/** A contact of which there is something to be committed. */
export interface ChangedContact {
  contact: UpstreamContact;
  fingerprint: string;
}

/**
 * Compares a contact list with what is known of it, while it comes. Of a contact that is as it was only its id is kept;
 * the others are asked for again. If an id comes more than once, the last one counts.
 */
export class ContactListReading implements ContactReader {
  /** The position of each contact, or {@link UNCHANGED}. */
  private readonly positions = new Map<string, number>();
  /** By position, of those that changed. */
  private readonly fingerprints = new Map<number, string>();
  /** How many contacts were there before. */
  readonly present: number;

  constructor(
    private readonly known: KnownContacts,
    private readonly fingerprintOf: (contact: UpstreamContact) => string,
  ) {
    let present = 0;
    for (const { deleted } of known.contacts.values()) if (!deleted) present += 1;
    this.present = present;
  }

  see(contact: UpstreamContact, position: number): boolean {
    const fingerprint = this.fingerprintOf(contact);
    const isChanged = this.isChanged(this.known.contacts.get(contact.id), fingerprint);
    this.positions.set(contact.id, isChanged ? position : UNCHANGED);
    if (isChanged) this.fingerprints.set(position, fingerprint);
    return isChanged;
  }

  /** What of the contacts that it asked for counts. */
  changed(wanted: readonly { contact: UpstreamContact; position: number }[]): ChangedContact[] {
    return wanted.flatMap(({ contact, position }): ChangedContact[] => {
      const fingerprint = this.fingerprints.get(position);
      return fingerprint === undefined || this.positions.get(contact.id) !== position
        ? []
        : [{ contact, fingerprint }];
    });
  }

  /** The contacts that were there before, and that the list has not shown. */
  missing(): [id: string, before: ListedContact][] {
    const missing: [string, ListedContact][] = [];
    for (const entry of this.known.contacts) {
      if (!entry[1].deleted && !this.positions.has(entry[0])) missing.push(entry);
    }
    return missing;
  }

  private isChanged(before: ListedContact | undefined, fingerprint: string): boolean {
    return (
      before?.fingerprint !== fingerprint ||
      before.deleted ||
      before.missingSince !== undefined ||
      // Some are to be scheduled again, and the commit sees whom.
      this.present > this.known.scheduled
    );
  }
}
