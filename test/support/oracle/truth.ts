/** An entry of the simulator's ledger, as far as the oracle reads it. Times are milliseconds since 1970. */
export interface LedgerEntry {
  readonly kind: string;
  readonly time: number;
  readonly messageId?: string;
  readonly contactId?: string | null;
  readonly direction?: string;
  readonly message?: string | null;
  readonly delivered?: boolean;
  readonly read?: boolean;
  readonly revision?: number;
  readonly changes?: Readonly<Record<string, { from: unknown; to: unknown }>>;
  readonly ids?: readonly string[];
  readonly revisions?: readonly number[];
  readonly damage?: string | null;
}

/** A version of a message: the fields that the oracle compares. */
export interface Form {
  readonly text: string;
  readonly delivered: boolean;
  readonly read: boolean;
}

export function sameForm(one: Form, other: Form): boolean {
  return one.text === other.text && one.delivered === other.delivered && one.read === other.read;
}

/** The periods in which an object exists or is missing. The last period has no end. */
export class Presence {
  private readonly turns: { time: number; there: boolean }[] = [];

  note(time: number, there: boolean): void {
    this.turns.push({ time, there });
  }

  get there(): boolean {
    return this.turns.at(-1)?.there ?? false;
  }

  /** Start of the absence at the given time, or undefined if the object existed then. */
  missingSince(time: number): number | undefined {
    const turn = this.turns.findLast((candidate) => candidate.time <= time);
    return turn === undefined || turn.there ? undefined : turn.time;
  }
}

/** Times of the first and last reply that showed a version, and the number of such replies. */
export interface Showing {
  readonly first: number;
  last: number;
  count: number;
}

export interface TrueMessage {
  readonly id: string;
  readonly contactId: string;
  readonly direction: string;
  /** True if the message existed before the feed's first read, so that its arrival is never emitted. */
  readonly baseline: boolean;
  /** All versions by revision number, each with its start time. */
  readonly forms: (Form & { readonly since: number })[];
  readonly presence: Presence;
  /** The complete and undamaged replies that showed each revision. */
  readonly served: Map<number, Showing>;
}

/** All changes and all served replies, from the simulator's ledger. */
export class Truth {
  readonly messages = new Map<string, TrueMessage>();
  readonly contacts = new Map<string, Presence>();
  /** Number of changes of each kind since the baseline. */
  readonly changes = new Map<string, number>();
  pages = 0;
  lists = 0;
  contactChanges = 0;
  private baseline = true;

  /** Ends the baseline: the feed has read everything once, and the following entries are changes. */
  endBaseline(): void {
    this.baseline = false;
  }

  observe(entry: LedgerEntry): void {
    if (/^(message|contact)\./.test(entry.kind) && !this.baseline) {
      this.changes.set(entry.kind, (this.changes.get(entry.kind) ?? 0) + 1);
    }
    switch (entry.kind) {
      case 'message.created': {
        this.create(entry);
        return;
      }
      case 'message.changed': {
        this.change(entry);
        return;
      }
      case 'message.deleted':
      case 'message.restored':
        return this.messages
          .get(entry.messageId ?? '')
          ?.presence.note(entry.time, entry.kind === 'message.restored');
      case 'contact.created':
      case 'contact.deleted':
      case 'contact.restored': {
        this.presenceOf(entry.contactId ?? '').note(entry.time, entry.kind !== 'contact.deleted');
        return;
      }
      case 'contact.changed':
        this.contactChanges += 1;
        return;
      case 'list.served': {
        this.serve(entry);
        return;
      }
    }
  }

  private create({
    messageId = '',
    contactId,
    direction = '',
    message,
    delivered,
    read,
    time,
  }: LedgerEntry): void {
    const presence = new Presence();
    presence.note(time, true);
    this.messages.set(messageId, {
      id: messageId,
      contactId: contactId ?? '',
      direction,
      baseline: this.baseline,
      forms: [{ text: message ?? '', delivered: delivered === true, read: read === true, since: time }],
      presence,
      served: new Map(),
    });
  }

  private change({ messageId = '', changes = {}, time }: LedgerEntry): void {
    const message = this.messages.get(messageId);
    const last = message?.forms.at(-1);
    if (message === undefined || last === undefined) return;
    const to = (field: string, before: unknown): unknown => (field in changes ? changes[field]?.to : before);
    message.forms.push({
      text: String(to('message', last.text)),
      delivered: to('status.delivered', last.delivered) === true,
      read: to('status.read', last.read) === true,
      since: time,
    });
  }

  private serve({ contactId, ids = [], revisions = [], damage, time }: LedgerEntry): void {
    if (contactId === null || contactId === undefined) {
      this.lists += 1;
      return;
    }
    this.pages += 1;
    // The content of a damaged reply does not count as shown.
    if (damage !== null && damage !== undefined) return;
    for (const [i, id] of ids.entries()) {
      const served = this.messages.get(id)?.served;
      const showing = served?.get(revisions[i] ?? 0);
      if (showing === undefined) served?.set(revisions[i] ?? 0, { first: time, last: time, count: 1 });
      else Object.assign(showing, { last: time, count: showing.count + 1 });
    }
  }

  private presenceOf(contactId: string): Presence {
    const presence = this.contacts.get(contactId) ?? new Presence();
    this.contacts.set(contactId, presence);
    return presence;
  }
}
