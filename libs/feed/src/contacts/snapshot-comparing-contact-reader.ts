import type { ContactReader, UpstreamContact } from '#upstream';
import type { VolatileContactFieldTracker, QuickVerdict } from '../form/volatile-contact-fields.js';
import type { ContactListSnapshot } from '../snapshot/contact-list-snapshot.js';
import type { ListedContact } from '../snapshot/listed-contacts.js';

/**
 * Values that stand in place of the index of a known contact in the contact list. `UNCHANGED`: the list contains the
 * contact, and the contact need not be committed. `UNSEEN`: the part of the list that has arrived does not contain
 * the contact.
 */
const UNCHANGED = -1;
const UNSEEN = -2;

/**
 * A contact in the list that must be stored, because it is new, has changed, was missing before, or must be scheduled
 * for a poll again.
 */
export interface ChangedContact {
  contact: UpstreamContact;
  fingerprint: string;
  /**
   * Result of comparing the contact's fingerprint with the fingerprint in the snapshot; `changed` for a new contact,
   * and for a deleted contact that reappeared.
   */
  verdict: QuickVerdict | 'changed';
}

/**
 * Compares a contact list with the snapshot while the list arrives from upstream. To save memory, the reader does not
 * store the contacts, only their indexes in the list, and the fingerprints of the contacts that must be stored. After
 * the end of the list, the caller passes these contacts to {@link changed}. If the list contains an id twice, the
 * later element counts.
 */
export class SnapshotComparingContactReader implements ContactReader {
  /**
   * For each known contact, in the order of the snapshot: the contact's index in the contact list if the
   * contact must be stored, otherwise {@link UNCHANGED} or {@link UNSEEN}.
   */
  private readonly positions: Int32Array;
  /** Index of each new contact in the contact list, by the contact's id. */
  private readonly newPositions = new Map<string, number>();
  private seen = 0;
  /** Fingerprint and comparison result of each contact that must be stored, by the contact's index in the list. */
  private readonly notable = new Map<number, { fingerprint: string; verdict: ChangedContact['verdict'] }>();
  /** Number of known contacts that are not deleted. */
  readonly present: number;

  constructor(
    private readonly known: ContactListSnapshot,
    /** Decides which changes of volatile fields emit events, and counts the changes of each field in this list. */
    readonly tracker: VolatileContactFieldTracker,
  ) {
    let present = 0;
    for (const [, { deleted }] of known.contacts) if (!deleted) present += 1;
    this.present = present;
    this.positions = new Int32Array(known.contacts.size).fill(UNSEEN);
  }

  receive(contact: UpstreamContact, position: number): boolean {
    const before = this.known.contacts.get(contact.id);
    const isKnown = before !== undefined && !before.deleted;
    const verdict = isKnown ? this.tracker.quickVerdict(contact, before.fingerprint) : 'changed';
    const isNoted = verdict !== 'same' || this.mustBeCommitted(before);
    this.note(contact.id, isNoted ? position : UNCHANGED);
    if (isNoted) {
      const keeps = verdict === 'same' && before !== undefined;
      const fingerprint = keeps ? before.fingerprint : this.tracker.fingerprintOf(contact);
      this.notable.set(position, { fingerprint, verdict });
    }
    return isNoted;
  }

  /** Number of different contact ids in the part of the list that has arrived so far. */
  get count(): number {
    return this.seen + this.newPositions.size;
  }

  /** Number of different ids of new contacts in the part of the list that has arrived so far. */
  get newCount(): number {
    return this.newPositions.size;
  }

  /**
   * Returns those of the given contacts that must be stored. Leaves out an element if a later element of the
   * list has the same id.
   */
  changed(wanted: readonly { contact: UpstreamContact; position: number }[]): ChangedContact[] {
    return wanted.flatMap(({ contact, position }): ChangedContact[] => {
      const noted = this.notable.get(position);
      return noted === undefined || this.positionOf(contact.id) !== position ? [] : [{ contact, ...noted }];
    });
  }

  /**
   * Returns the known contacts that the list does not contain, except those that already count as deleted.
   */
  missing(): [id: string, before: ListedContact][] {
    const missing: [string, ListedContact][] = [];
    for (const entry of this.known.contacts) {
      if (!entry[1].deleted && this.positionOf(entry[0]) === UNSEEN) missing.push(entry);
    }
    return missing;
  }

  private note(id: string, position: number): void {
    const ordinal = this.known.contacts.ordinalOf(id);
    if (ordinal === undefined) {
      this.newPositions.set(id, position);
      return;
    }
    if (this.positions[ordinal] === UNSEEN) this.seen += 1;
    this.positions[ordinal] = position;
  }

  private positionOf(id: string): number | undefined {
    const ordinal = this.known.contacts.ordinalOf(id);
    return ordinal === undefined ? this.newPositions.get(id) : this.positions[ordinal];
  }

  /**
   * Returns true if a contact must be committed although its fields are unchanged. If the contact was missing, the
   * commit records that the contact reappeared. If fewer contacts are scheduled for polls than are known, all
   * contacts are committed, because the commit schedules each contact that has no due time.
   */
  private mustBeCommitted(before: ListedContact | undefined): boolean {
    return before?.missingSince !== undefined || this.present > this.known.scheduled;
  }
}
