import { type Form, sameForm, type TrueMessage } from './truth.js';

/** An event as a subscriber sees it. */
export interface EmittedEvent {
  readonly id: string;
  readonly type: string;
  readonly timestamp: string;
  readonly contactId?: string;
  readonly sequence: number;
  readonly data: Readonly<Record<string, unknown>>;
}

/**
 * - `miss`: a change was not emitted.
 * - `double`: a change was emitted again.
 * - `false`: an event has content that no served reply had shown, or the wrong type.
 * - `false deletion`: a deletion was emitted for an existing object, or within a minute.
 * - `late deletion`: a deletion is not emitted yet; the caller decides how long that may take.
 * - `gap`: a sequence does not increase by one, or an event id is duplicate.
 */
export type Rule = 'miss' | 'double' | 'false' | 'false deletion' | 'late deletion' | 'gap';

export type Report = (rule: Rule, about: string) => void;

/** All processes run on one machine, but read its clock at slightly different moments. */
export const CLOCK_TOLERANCE_MS = 50;
/** A deletion needs two reads at least this far apart, so its event cannot come sooner. */
export const ABSENCE_MS = 60_000;
/**
 * A version in at least this number of replies over this time was certainly committed by one of those reads: a poll is
 * lost only with its worker, and only one of the two workers is killed at a time.
 */
const MIN_SHOWN_COUNT = 4;
const MIN_SHOWN_MS = 30_000;
const ARRIVALS: Readonly<Record<string, string>> = { inbound: 'message.received', outbound: 'message.sent' };
const FLAGS = ['delivered', 'read'] as const;

/**
 * Checks the events of one message against its history. After a kill, it is unknown which reads were committed. But
 * each event has the whole message as it was read, so the events show which reads were committed. The checks are:
 *
 * - each emitted version was served before, and versions are emitted in order (this finds stale and invented reads);
 * - each event names a difference between the previously emitted version and this one, and all differences are named
 * before the next version (a duplicate names no difference; an omission leaves one unnamed);
 * - the last emitted version is upstream's version, and each version that was shown repeatedly was emitted (this finds
 * missed changes).
 *
 * A change that was undone between two reads needs no event.
 */
export class MessageCheck {
  /** The version that a subscriber knows; undefined before the arrival of the message was emitted. */
  private known: Form | undefined;
  /** The flags whose own event was emitted, or will never be emitted. */
  private readonly emittedFlags = { delivered: false, read: false };
  private readonly emittedForms: Form[] = [];
  private previous: Form | undefined;
  private revision = 0;
  private deletionEmitted = false;

  constructor(
    private readonly truth: TrueMessage,
    private readonly report: Report,
  ) {
    const first = truth.forms[0];
    if (truth.baseline && first !== undefined) {
      this.known = first;
      this.emittedForms.push(first);
      this.emittedFlags = { delivered: first.delivered, read: first.read };
    }
  }

  /** Checks the next event in the order of the sequence. */
  check(event: EmittedEvent): void {
    const about = `${event.type} of ${this.truth.id}`;
    if (event.type === 'message.deleted') {
      this.deletion(event, about);
      return;
    }
    const form = formOf(event);
    if (form === undefined) {
      this.report('false', `${about}: without a message`);
      return;
    }
    this.checkServed(form, Date.parse(event.timestamp), about);
    this.checkComplete(form, about);
    if (event.type === 'message.delivered' || event.type === 'message.read') this.flag(event, form, about);
    else if (event.type === 'message.updated') this.update(event, form, about);
    else this.arrival(event, form, about);
    this.previous = form;
    this.emittedForms.push(form);
  }

  /** Completes the check after the last event. @param contactThere true if the contact is listed at the end */
  finish(contactThere: boolean): void {
    const { truth } = this;
    const about = `the last version of ${truth.id}`;
    const final = truth.forms.at(-1);
    if (!contactThere || final === undefined) return;
    if (!truth.presence.there) {
      const known = this.known !== undefined;
      if (known && !this.deletionEmitted) this.report('late deletion', `${truth.id} is deleted`);
      return;
    }
    if (this.deletionEmitted) this.report('miss', `${truth.id} returned`);
    if (this.known === undefined) this.report('miss', `the arrival of ${truth.id}`);
    else if (!sameForm(this.known, final))
      this.report('miss', `${about}: ${describeForm(this.known)}, is ${describeForm(final)}`);
    for (const [revision, { first, last, count }] of truth.served) {
      const form = truth.forms[revision];
      const surely = count >= MIN_SHOWN_COUNT && last - first >= MIN_SHOWN_MS;
      if (form === undefined || !surely || this.emittedForms.some((known) => sameForm(known, form))) continue;
      this.report('miss', `revision ${revision} of ${truth.id}, which was shown for ${last - first} ms`);
    }
  }

  private arrival({ type }: EmittedEvent, form: Form, about: string): void {
    if (this.known !== undefined) this.report('double', about);
    if (type !== (ARRIVALS[this.truth.direction] ?? 'message.created')) this.report('false', about);
    // The flags of an outbound message have their own events; those of an inbound message come with its arrival.
    const outbound = type === 'message.sent';
    this.known = outbound ? { text: form.text, delivered: false, read: false } : form;
    if (!outbound) Object.assign(this.emittedFlags, { delivered: form.delivered, read: form.read });
  }

  private flag(event: EmittedEvent, form: Form, about: string): void {
    const flag = event.type === 'message.delivered' ? 'delivered' : 'read';
    if (this.emittedFlags[flag]) this.report('double', about);
    this.emittedFlags[flag] = true;
    if (this.differences(event, form, about) !== `status.${flag}`)
      this.report('false', `${about}: other changes`);
  }

  private update(event: EmittedEvent, form: Form, about: string): void {
    const named = this.differences(event, form, about);
    if (named === '') this.unnamed(form, about);
    for (const flag of FLAGS) {
      const first = named.includes(`status.${flag}`) && form[flag] && !this.emittedFlags[flag];
      if (first) this.report('false', `${about}: the first ${flag} has an event of its own`);
    }
  }

  /** The product keeps 16 bits of each field, so one change in 65,536 is emitted without the field name. */
  private unnamed(form: Form, about: string): void {
    if (this.known === undefined || sameForm(this.known, form))
      this.report('double', `${about}: nothing changed`);
    else this.known = { ...this.known, text: form.text };
  }

  /** Applies the changes of an event to the known version, and returns their names. */
  private differences({ data }: EmittedEvent, form: Form, about: string): string {
    const changes = (data['changes'] ?? {}) as Record<string, { from?: unknown; to: unknown } | undefined>;
    const { known } = this;
    if (known === undefined) {
      this.report('miss', `${about}: before its arrival`);
      return Object.keys(changes).join();
    }
    let next = known;
    for (const [name, change] of Object.entries(changes)) {
      const field = ({ message: 'text', 'status.delivered': 'delivered', 'status.read': 'read' } as const)[
        name
      ];
      if (name === 'deleted') {
        if (!this.deletionEmitted) this.report('false', `${about}: its deletion was not emitted`);
        this.deletionEmitted = false;
      } else if (field === undefined) {
        this.report('false', `${about}: ${name} never changes here`);
      } else {
        if (change?.to === known[field])
          this.report('double', `${about}: ${name} was already emitted with this value`);
        if (change !== undefined && 'from' in change && change.from !== known[field])
          this.report('miss', `${about}: ${name} was emitted with another value before`);
        if (change?.to !== form[field])
          this.report('false', `${about}: ${name} has another value in the message of the event`);
        next = { ...next, [field]: change?.to };
      }
    }
    this.known = next;
    return Object.keys(changes).join();
  }

  /** All changes of a version must be emitted before the next version. */
  private checkComplete(form: Form, about: string): void {
    const { known, previous } = this;
    if (known === undefined || previous === undefined || sameForm(form, previous)) return;
    if (!sameForm(known, previous))
      this.report('miss', `${about}: ${describeForm(previous)} was emitted as ${describeForm(known)}`);
  }

  private checkServed(form: Form, at: number, about: string): void {
    const { forms, served } = this.truth;
    const found = forms.findIndex(
      (candidate, revision) =>
        revision >= this.revision &&
        sameForm(candidate, form) &&
        (served.get(revision)?.first ?? Infinity) <= at + CLOCK_TOLERANCE_MS,
    );
    if (found < 0)
      this.report(
        'false',
        `${about}: ${describeForm(form)} was not served before, or was replaced long before`,
      );
    else this.revision = found;
  }

  private deletion({ timestamp }: EmittedEvent, about: string): void {
    const at = Date.parse(timestamp);
    const gone = this.truth.presence.missingSince(at);
    if (this.deletionEmitted) this.report('double', about);
    if (gone === undefined) this.report('false deletion', `${about}: the message exists upstream`);
    else if (at - gone < ABSENCE_MS - CLOCK_TOLERANCE_MS)
      this.report('false deletion', `${about}: emitted after ${at - gone} ms`);
    this.deletionEmitted = true;
  }
}

function formOf({ data }: EmittedEvent): Form | undefined {
  const message = data['message'] as
    { message?: unknown; status?: { delivered?: unknown; read?: unknown } } | undefined;
  const { delivered, read } = message?.status ?? {};
  if (typeof message?.message !== 'string') return undefined;
  if (typeof delivered !== 'boolean' || typeof read !== 'boolean') return undefined;
  return { text: message.message, delivered, read };
}

function describeForm({ text, delivered, read }: Form): string {
  return `"${text}"${delivered ? ' delivered' : ''}${read ? ' read' : ''}`;
}
