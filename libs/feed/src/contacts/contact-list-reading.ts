import type { ContactReader, UpstreamContact } from '#upstream';
import type { ContactListLesson, QuickVerdict } from '../form/contact-volatility.js';
import type { KnownContacts, ListedContact } from '../feed-store.js';

/** Stand for the position of a contact that is as it was, and of one that the list has not shown. */
const UNCHANGED = -1;
const UNSEEN = -2;

/** A contact of which there is something to be committed. */
export interface ChangedContact {
  contact: UpstreamContact;
  fingerprint: string;
  /** What the fingerprint alone says of a contact that is known. */
  verdict: QuickVerdict;
}

/**
 * Compares a contact list with what is known of it, while it comes. Of a contact that is as it was only its id is kept;
 * the others are asked for again. If an id comes more than once, the last one counts.
 */
export class ContactListReading implements ContactReader {
  /** By ordinal, the position of each contact that is known, {@link UNCHANGED} or {@link UNSEEN}. */
  private readonly positions: Int32Array;
  /** The position of each contact that is new. */
  private readonly newPositions = new Map<string, number>();
  private seen = 0;
  /** By position, of those that are not as they were. */
  private readonly noted = new Map<number, { fingerprint: string; verdict: QuickVerdict }>();
  /** How many contacts were there before. */
  readonly present: number;

  constructor(
    private readonly known: KnownContacts,
    private readonly lesson: Pick<ContactListLesson, 'fingerprintOf' | 'quickVerdict'>,
  ) {
    let present = 0;
    for (const [, { deleted }] of known.contacts) if (!deleted) present += 1;
    this.present = present;
    this.positions = new Int32Array(known.contacts.size).fill(UNSEEN);
  }

  see(contact: UpstreamContact, position: number): boolean {
    const before = this.known.contacts.get(contact.id);
    const isKnown = before !== undefined && !before.deleted;
    const verdict = isKnown ? this.lesson.quickVerdict(contact, before.fingerprint) : 'changed';
    const isNoted = verdict !== 'same' || this.isScheduledAnew(before);
    this.note(contact.id, isNoted ? position : UNCHANGED);
    if (isNoted) {
      const keeps = verdict === 'same' && before !== undefined;
      const fingerprint = keeps ? before.fingerprint : this.lesson.fingerprintOf(contact);
      this.noted.set(position, { fingerprint, verdict });
    }
    return isNoted;
  }

  /** How many different contacts the list has shown. */
  get count(): number {
    return this.seen + this.newPositions.size;
  }

  /** What of the contacts that it asked for counts. */
  changed(wanted: readonly { contact: UpstreamContact; position: number }[]): ChangedContact[] {
    return wanted.flatMap(({ contact, position }): ChangedContact[] => {
      const noted = this.noted.get(position);
      return noted === undefined || this.positionOf(contact.id) !== position ? [] : [{ contact, ...noted }];
    });
  }

  /** The contacts that were there before, and that the list has not shown. */
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
    // Where some are to be scheduled again, the commit sees whom.
    return before?.missingSince !== undefined || this.present > this.known.scheduled;
  }
}
