import { type Form, sameForm, type TrueMessage } from './truth.js';

/** An event as a subscriber sees it. */
export interface ToldEvent {
  readonly id: string;
  readonly type: string;
  readonly timestamp: string;
  readonly contactId?: string;
  readonly sequence: number;
  readonly data: Readonly<Record<string, unknown>>;
}

/**
 * - `miss`: something was not told.
 * - `double`: something was told again.
 * - `false`: something was told that no served reply had shown, or under a wrong name.
 * - `false deletion`: told of something that was there, or was not away for a minute.
 * - `late deletion`: a deletion is not told yet; whoever asks says how long that may take.
 * - `gap`: a sequence does not count up by one, or an id is used twice.
 */
export type Rule = 'miss' | 'double' | 'false' | 'false deletion' | 'late deletion' | 'gap';

export type Report = (rule: Rule, about: string) => void;

/** Both run on this machine; clocks are read at slightly different moments. */
export const CLOCK_SLACK_MS = 50;
/** CONTRACT: a deletion needs two reads at least so far apart, so nothing can be told of it sooner. */
export const ABSENCE_MS = 60_000;
/**
 * A form that so many replies showed, the first and the last of them so far apart, was committed by one of those reads:
 * a poll is lost only with its worker, and one worker lives on while the other one dies.
 */
const SHOWN_OFTEN = 4;
const SHOWN_FOR_MS = 30_000;
const ARRIVALS: Readonly<Record<string, string>> = { inbound: 'message.received', outbound: 'message.sent' };
const FLAGS = ['delivered', 'read'] as const;

/**
 * Holds what was told of one message against what happened to it. With kills nobody outside knows which reads were
 * committed; but each event carries the whole message as it was read, so the events themselves say that, and the checks
 * are exact:
 *
 * - each told form was really served, before, and forms come in the order in which they came about (a stale or made-up
 *   read is caught);
 * - each event names a difference between the form told last and its own, and all of them are named before the next
 *   form (a double names no difference; one that was passed over leaves one);
 * - what is told last is the form that upstream has, and what was shown again and again was told (a miss leaves another).
 *
 * What came and went between two reads is rightly not told, and is not asked for.
 */
export class MessageCheck {
  /** The state of the message that a subscriber knows; undefined before its arrival was told. */
  private told: Form | undefined;
  /** The flags whose own event was told, or never will be. */
  private readonly spent = { delivered: false, read: false };
  private readonly toldForms: Form[] = [];
  private previous: Form | undefined;
  private revision = 0;
  private deletionTold = false;

  constructor(
    private readonly truth: TrueMessage,
    private readonly report: Report,
  ) {
    const first = truth.forms[0];
    if (truth.baseline && first !== undefined) {
      this.told = first;
      this.toldForms.push(first);
      this.spent = { delivered: first.delivered, read: first.read };
    }
  }

  /** One event after the other, in their sequence. */
  hear(event: ToldEvent): void {
    const about = `${event.type} of ${this.truth.id}`;
    if (event.type === 'message.deleted') {
      this.deletion(event, about);
      return;
    }
    const form = formOf(event);
    if (form === undefined) {
      this.report('false', `${about}: without a form`);
      return;
    }
    this.wasServed(form, Date.parse(event.timestamp), about);
    this.isWhole(form, about);
    if (event.type === 'message.delivered' || event.type === 'message.read') this.flag(event, form, about);
    else if (event.type === 'message.updated') this.update(event, form, about);
    else this.arrival(event, form, about);
    this.previous = form;
    this.toldForms.push(form);
  }

  /** After the last event, once all is quiet. @param contactThere whether its contact is listed at the end */
  close(contactThere: boolean): void {
    const { truth } = this;
    const about = `the last form of ${truth.id}`;
    const final = truth.forms.at(-1);
    if (!contactThere || final === undefined) return;
    if (!truth.presence.there) {
      const known = this.told !== undefined;
      if (known && !this.deletionTold) this.report('late deletion', `${truth.id} is deleted`);
      return;
    }
    if (this.deletionTold) this.report('miss', `${truth.id} returned`);
    if (this.told === undefined) this.report('miss', `the arrival of ${truth.id}`);
    else if (!sameForm(this.told, final))
      this.report('miss', `${about}: ${words(this.told)}, is ${words(final)}`);
    for (const [revision, { first, last, count }] of truth.served) {
      const form = truth.forms[revision];
      const surely = count >= SHOWN_OFTEN && last - first >= SHOWN_FOR_MS;
      if (form === undefined || !surely || this.toldForms.some((told) => sameForm(told, form))) continue;
      this.report('miss', `revision ${revision} of ${truth.id}, which was shown for ${last - first} ms`);
    }
  }

  private arrival({ type }: ToldEvent, form: Form, about: string): void {
    if (this.told !== undefined) this.report('double', about);
    if (type !== (ARRIVALS[this.truth.direction] ?? 'message.created')) this.report('false', about);
    // The flags of an outbound message have events of their own, those of an inbound one come with its arrival.
    const outbound = type === 'message.sent';
    this.told = outbound ? { text: form.text, delivered: false, read: false } : form;
    if (!outbound) Object.assign(this.spent, { delivered: form.delivered, read: form.read });
  }

  private flag(event: ToldEvent, form: Form, about: string): void {
    const flag = event.type === 'message.delivered' ? 'delivered' : 'read';
    if (this.spent[flag]) this.report('double', about);
    this.spent[flag] = true;
    if (this.differences(event, form, about) !== `status.${flag}`)
      this.report('false', `${about}: other changes`);
  }

  private update(event: ToldEvent, form: Form, about: string): void {
    const named = this.differences(event, form, about);
    if (named === '') this.unnamed(form, about);
    for (const flag of FLAGS) {
      const first = named.includes(`status.${flag}`) && form[flag] && !this.spent[flag];
      if (first) this.report('false', `${about}: the first ${flag} has an event of its own`);
    }
  }

  /** Of each field 16 bits are kept: once in 65,536 a change is told without its name, by the message alone. */
  private unnamed(form: Form, about: string): void {
    if (this.told === undefined || sameForm(this.told, form))
      this.report('double', `${about}: nothing changed`);
    else this.told = { ...this.told, text: form.text };
  }

  /** Takes the event's changes as told; their names. */
  private differences({ data }: ToldEvent, form: Form, about: string): string {
    const changes = (data['changes'] ?? {}) as Record<string, { from?: unknown; to: unknown } | undefined>;
    const { told } = this;
    if (told === undefined) {
      this.report('miss', `${about}: before its arrival`);
      return Object.keys(changes).join();
    }
    let next = told;
    for (const [name, change] of Object.entries(changes)) {
      const field = ({ message: 'text', 'status.delivered': 'delivered', 'status.read': 'read' } as const)[
        name
      ];
      if (name === 'deleted') {
        if (!this.deletionTold) this.report('false', `${about}: it was not told as deleted`);
        this.deletionTold = false;
      } else if (field === undefined) {
        this.report('false', `${about}: ${name} never changes here`);
      } else {
        if (change?.to === told[field]) this.report('double', `${about}: ${name} was told as that already`);
        if (change !== undefined && 'from' in change && change.from !== told[field])
          this.report('miss', `${about}: ${name} was told otherwise before`);
        if (change?.to !== form[field]) this.report('false', `${about}: ${name} is not so in its message`);
        next = { ...next, [field]: change?.to };
      }
    }
    this.told = next;
    return Object.keys(changes).join();
  }

  /** Before another form comes, all of the one before must have been told. */
  private isWhole(form: Form, about: string): void {
    const { told, previous } = this;
    if (told === undefined || previous === undefined || sameForm(form, previous)) return;
    if (!sameForm(told, previous))
      this.report('miss', `${about}: ${words(previous)} was told as ${words(told)}`);
  }

  private wasServed(form: Form, at: number, about: string): void {
    const { forms, served } = this.truth;
    const found = forms.findIndex(
      (candidate, revision) =>
        revision >= this.revision &&
        sameForm(candidate, form) &&
        (served.get(revision)?.first ?? Infinity) <= at + CLOCK_SLACK_MS,
    );
    if (found < 0) this.report('false', `${about}: ${words(form)} was not served before, or long before`);
    else this.revision = found;
  }

  private deletion({ timestamp }: ToldEvent, about: string): void {
    const at = Date.parse(timestamp);
    const gone = this.truth.presence.goneAt(at);
    if (this.deletionTold) this.report('double', about);
    if (gone === undefined) this.report('false deletion', `${about}: upstream has it`);
    else if (at - gone < ABSENCE_MS - CLOCK_SLACK_MS)
      this.report('false deletion', `${about}: told after ${at - gone} ms`);
    this.deletionTold = true;
  }
}

function formOf({ data }: ToldEvent): Form | undefined {
  const message = data['message'] as
    { message?: unknown; status?: { delivered?: unknown; read?: unknown } } | undefined;
  const { delivered, read } = message?.status ?? {};
  if (typeof message?.message !== 'string') return undefined;
  if (typeof delivered !== 'boolean' || typeof read !== 'boolean') return undefined;
  return { text: message.message, delivered, read };
}

function words({ text, delivered, read }: Form): string {
  return `"${text}"${delivered ? ' delivered' : ''}${read ? ' read' : ''}`;
}
