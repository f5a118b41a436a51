import type { ContactReader, UpstreamContact } from '#upstream';
import type { ContactVolatilityTracker, QuickVerdict } from '../form/contact-volatility.js';
import type { KnownContacts, ListedContact } from '../feed-store.js';

/**
 * Special positions: of an unchanged contact, and of a known contact that the list has not contained so far.
 */
const UNCHANGED = -1;
const UNSEEN = -2;

/** A contact of the list that must be committed. */
export interface ChangedContact {
  contact: UpstreamContact;
  fingerprint: string;
  /** How the contact differs from the snapshot, as far as its fingerprint shows. */
  verdict: QuickVerdict;
}

/**
 * Compares a contact list with the snapshot while the list arrives. Keeps only the id of an unchanged contact
 * and requests the other contacts again afterwards. If the list contains an id twice, the last element counts.
 */
export class ContactListComparison implements ContactReader {
  /**
   * Position in the list of each known contact, by the contact's index in the snapshot; or {@link UNCHANGED} or
   * {@link UNSEEN}.
   */
  private readonly positions: Int32Array;
  /** Position of each new contact by its id. */
  private readonly newPositions = new Map<string, number>();
  private seen = 0;
  /** New and changed contacts by their position. */
  private readonly notable = new Map<number, { fingerprint: string; verdict: QuickVerdict }>();
  /** Number of known contacts that are not deleted. */
  readonly present: number;

  constructor(
    private readonly known: KnownContacts,
    private readonly tracker: Pick<ContactVolatilityTracker, 'fingerprintOf' | 'quickVerdict'>,
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
    const isNoted = verdict !== 'same' || this.isScheduledAnew(before);
    this.note(contact.id, isNoted ? position : UNCHANGED);
    if (isNoted) {
      const keeps = verdict === 'same' && before !== undefined;
      const fingerprint = keeps ? before.fingerprint : this.tracker.fingerprintOf(contact);
      this.notable.set(position, { fingerprint, verdict });
    }
    return isNoted;
  }

  /** Number of different contacts in the list so far. */
  get count(): number {
    return this.seen + this.newPositions.size;
  }

  /** Filters the requested contacts: returns the contacts that must be committed. */
  changed(wanted: readonly { contact: UpstreamContact; position: number }[]): ChangedContact[] {
    return wanted.flatMap(({ contact, position }): ChangedContact[] => {
      const noted = this.notable.get(position);
      return noted === undefined || this.positionOf(contact.id) !== position ? [] : [{ contact, ...noted }];
    });
  }

  /** Returns the known contacts that the list does not contain. */
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

  private isScheduledAnew(before: ListedContact | undefined): boolean {
    // If some contacts must be scheduled again, all are passed on: the commit finds out which.
    return before?.missingSince !== undefined || this.present > this.known.scheduled;
  }
}
