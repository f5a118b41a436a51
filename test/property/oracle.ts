/**
 * Computes which events must be emitted, from upstream's replies and the rules of the contract. Shares no
 * code with the product and does not know how the product polls.
 */

/** A message as shown in one reply. */
export interface ObservedMessage {
  id: string;
  kind: 'inbound' | 'outbound' | 'other';
  delivered: boolean;
  read: boolean;
  /** Timestamp in the reply, in milliseconds since 1970. Absent if the reply contains none. */
  timestamp?: number;
  /** All other fields of the message, as JSON. */
  rest: string;
  /** The complete message, as JSON. */
  wire: string;
}

/** A page that a worker received. */
export interface PageRead {
  page: number;
  /** Requested number of messages. */
  limit: number;
  /** Number of elements, including unreadable ones. */
  elements: number;
  seen: readonly ObservedMessage[];
  /** Ids of all messages that upstream had at that moment, newest last. */
  listed: readonly string[];
  /** True if upstream hid existing messages: an outage, or an empty page. */
  veiled: boolean;
  /** True if the reply had no fault. */
  sound: boolean;
  /** Number of changes upstream so far. */
  world: number;
  /** Upstream's order of messages. `random` is shuffled for each read. */
  order: string;
  /** Maximum number of messages per page. */
  pageSize: number;
  /** True if the timestamps increase in the order of the list, or so few messages are misplaced that it counts as sorted. */
  inOrder: boolean;
}

/** A page, and the number of the contact's commits when the page was requested. */
export interface PageOfTask extends PageRead {
  commits: number;
}

/** The known state of a contact when a worker began to poll the contact. */
export interface Beginning {
  contactId: string;
  known: ReadonlySet<string>;
  completeAt: number | undefined;
  completeOrder: string | undefined;
  wasInOrder: boolean | undefined;
}

/** All pages that one worker has read of a contact in one task, without those whose commit was rejected. */
export interface PollAttempt {
  contactId: string;
  /** Start of the task, in milliseconds since 1970. */
  began: number;
  /** Time of the last read of the known state, and the number of the contact's commits at that time. */
  now: number;
  commits: number;
  /** Ids of the messages that were known at that time. */
  known: ReadonlySet<string>;
  reads: PageOfTask[];
  /** Number of pages that were committed or contained nothing new. These pages have been judged. */
  settled: number;
  /** True if a request for a page failed. Only requests that returned a page are in `reads`. */
  hasFailedRequest: boolean;
}

/** One read of the contact list by a worker. */
export interface ListAttempt {
  now: number;
  /** Time of upstream's clock in the reply. */
  date: number;
  /**
   * The oracle's {@link Oracle.lastListAt} before and after the worker read the known state. A list without
   * changes does not conflict with other lists, so that a first list may be committed in between.
   */
  lastListAt: readonly [before: number | undefined, after: number | undefined];
  contacts: readonly { id: string; wire: string }[];
}

/** An event as a subscriber receives it. */
export interface ReceivedEvent {
  id: string;
  type: string;
  contactId?: string;
  sequence: number;
  data: {
    message?: Record<string, unknown>;
    contact?: Record<string, unknown>;
    changes?: Record<string, { from?: unknown; to?: unknown }>;
    count?: number;
  };
}

export interface OracleSettings {
  undated: 'silent' | 'emit';
  sweepMs: number;
  settleMs: number;
}

/** The product emitted other events than required. */
export class Verdict extends Error {
  constructor(words: string) {
    super(`The oracle's verdict: ${words}`);
    this.name = 'Verdict';
  }
}

/** The known state of a message. */
export interface KnownForm {
  kind: ObservedMessage['kind'];
  delivered: boolean;
  read: boolean;
  deliveredEmitted: boolean;
  readEmitted: boolean;
  rest: string;
  deleted: boolean;
  timestamp?: number;
}

interface Message {
  /** Possible known states. Undefined means unknown. More than one entry if a read leaves the state open. */
  forms: (KnownForm | undefined)[];
  /** Time since which reads have not shown the message while upstream did not have it. */
  absentSince?: number;
  /** Time of the last read that showed the message. */
  servedAt: number;
  /** Number of the contact's commit with which the message became known. */
  knownSince: number;
}

/**
 * Whether the first read of a contact is complete. `perhaps over`: a worker died at the end of the read, so
 * that its completion is unknown.
 */
type FirstRead = 'goes on' | 'perhaps over' | 'over';

interface Contact {
  commits: number;
  /**
   * At a first read, messages with a later timestamp are emitted, and messages up to `silentUntil` are not. Both are
   * allowed in between.
   */
  emitAfter: number;
  silentUntil: number;
  /** Time of the last committed read of the newest messages, and of the last committed read of any messages. */
  headAt?: number;
  lastAt?: number;
  firstRead: FirstRead;
  /** True during a new baseline, which replaces a lost or changed state. */
  resyncing: boolean;
  messages: Map<string, Message>;
  /** Time of the last read that may have been complete, and upstream's order at that time. */
  completeAt?: number;
  completeOrder?: string;
  /** True if the timestamps matched the order. */
  wasInOrder?: boolean;
  /** Time of the last read with a fault or a change upstream. Such a read may have missed messages. */
  troubledAt?: number;
}

interface ListedContact {
  wire: string;
  deleted: boolean;
  missingSince?: number;
}

/** What is known of a message before and after a commit. More than one form if a read leaves the state open. */
export interface MessageKnowledge {
  id: string;
  before: readonly (KnownForm | undefined)[];
  after: readonly (KnownForm | undefined)[];
  /** True if the last reads did not show the message, but it does not count as deleted yet. */
  isAbsent: boolean;
}

const MINUTE_MS = 60_000;
/** Timestamps and the time of upstream's reply have no fraction of a second. */
const CLOCK_SLACK_MS = 2_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** The events that one reading of a message must cause, and the known state after it. */
interface Outcome {
  types: string[];
  changes: string[];
  form: KnownForm | undefined;
}

export class Oracle {
  private readonly contacts = new Map<string, Contact>();
  private readonly listed = new Map<string, ListedContact>();
  private readonly sequences = new Map<string, number>();
  private readonly ids = new Set<string>();
  /** Upstream's time at the last committed list. */
  lastListAt: number | undefined;

  constructor(private readonly settings: OracleSettings) {}

  /** Reports events that were emitted without a commit of a read. Only transitions of sends may emit some. */
  stray(events: readonly ReceivedEvent[]): void {
    const strays = events.filter(({ type }) => !type.startsWith('send.'));
    if (strays.length > 0) throw new Verdict(`emitted without a committed read: ${words(strays)}`);
    this.count(events);
  }

  committedList(
    { now, date, lastListAt: [first, later], contacts }: ListAttempt,
    all: readonly ReceivedEvent[],
  ): void {
    this.count(all);
    const events = all.filter(({ type }) => !type.startsWith('send.'));
    const lastListAt = events.some(({ type }) => type === 'contact.created') ? later : first;
    const expected: string[] = [];
    const shown = new Map(contacts.map((contact) => [contact.id, contact.wire]));
    for (const [id, wire] of shown) {
      const before = this.listed.get(id);
      if (before === undefined) {
        if (lastListAt !== undefined) expected.push(`contact.created ${id}`);
        const emitAfter = lastListAt === undefined ? date - MINUTE_MS : lastListAt - DAY_MS;
        this.contacts.set(id, {
          ...{ emitAfter, silentUntil: emitAfter },
          commits: 0,
          firstRead: 'goes on',
          resyncing: false,
          messages: new Map(),
        });
      } else if (before.deleted) expected.push(`contact.created ${id}`);
      else if (before.wire !== wire) expected.push(`contact.updated ${id}`);
      this.listed.set(id, { wire, deleted: false });
    }
    for (const [id, before] of this.listed) {
      if (shown.has(id) || before.deleted) continue;
      before.missingSince ??= now;
      if (before.missingSince <= now - MINUTE_MS) {
        expected.push(`contact.deleted ${id}`);
        before.deleted = true;
      }
    }
    this.lastListAt = date;
    const emitted = events.map(({ type, contactId }) => `${type} ${contactId ?? ''}`);
    if (!sameMembers(emitted, expected))
      throw new Verdict(
        `a contact list must emit [${expected.join(', ')}], but emitted [${emitted.join(', ')}]`,
      );
    for (const { type, contactId = '', data } of events) {
      const last = this.listed.get(contactId)?.wire;
      if (JSON.stringify(data.contact) !== last)
        throw new Verdict(
          `${type} ${contactId} shows ${JSON.stringify(data.contact)}, upstream showed ${last ?? ''}`,
        );
    }
  }

  /**
   * Judges the events of a committed read. Returns what is known of the contact's messages before and after it.
   * @param bound ids of the messages that belong to a send
   */
  committedPoll(
    attempt: PollAttempt,
    all: readonly ReceivedEvent[],
    bound: ReadonlySet<string>,
  ): MessageKnowledge[] {
    this.count(all);
    const events = all.filter(({ type }) => !type.startsWith('send.'));
    const contact = this.contacts.get(attempt.contactId);
    if (contact === undefined) throw new Verdict(`${attempt.contactId} was polled, but never listed`);
    const wrong = events.find(
      ({ type, contactId }) =>
        (contactId !== attempt.contactId || !/^(message\.|contact\.resynced$)/.test(type)) &&
        type !== 'account.suspect',
    );
    if (wrong !== undefined) throw new Verdict(`a poll of ${attempt.contactId} emitted ${words([wrong])}`);
    const { reads, settled } = withoutProbes(attempt);
    const resync = events.some(({ type }) => type === 'contact.resynced');
    if (resync) this.assertReplaced(contact, reads);
    if (events.some(({ type }) => type === 'message.deleted')) assertFew(contact, reads);
    const byMessage = new Map<string, ReceivedEvent[]>();
    for (const event of events) {
      if (!event.type.startsWith('message.')) continue;
      const id = String(event.data.message?.['id']);
      byMessage.set(id, [...(byMessage.get(id) ?? []), event]);
    }
    const lastStart = reads.findLastIndex(({ page }) => page === 1);
    const { commits } = contact;
    contact.commits += 1;
    const servings = new Map<string, { seen: ObservedMessage; open: boolean; at: number }>();
    for (const [n, read] of reads.entries()) {
      // A new baseline is taken from one read of everything, independent of earlier reads.
      if (n < settled) continue;
      // Other workers may have committed newer data while this page waited.
      const isOld = read.commits !== commits;
      const open = isOld || (resync && n < lastStart);
      for (const seen of read.seen) servings.set(seen.id, { seen, open, at: n });
    }
    // A replaced contact's messages are new if they arrived since the last read of the newest messages.
    const replaced: Contact = {
      ...contact,
      ...{ firstRead: 'goes on', resyncing: true },
      silentUntil: (contact.headAt ?? Infinity) - CLOCK_SLACK_MS,
      emitAfter: (contact.headAt === undefined ? Infinity : (contact.lastAt ?? Infinity)) + CLOCK_SLACK_MS,
    };
    const knowledge: MessageKnowledge[] = [];
    for (const id of new Set([...servings.keys(), ...byMessage.keys(), ...contact.messages.keys()])) {
      const message = contact.messages.get(id) ?? {
        forms: [undefined],
        servedAt: attempt.now,
        knownSince: contact.commits,
      };
      const serving = servings.get(id);
      const emitted = byMessage.get(id) ?? [];
      const priors = resync ? [undefined] : message.forms;
      const outcomes = priors.flatMap((prior) => [
        ...(serving === undefined ? [] : this.seen(resync ? replaced : contact, serving.seen, prior)),
        // A message of a send is emitted even if it is part of the baseline.
        ...(serving === undefined || prior !== undefined || !bound.has(id) || resync
          ? []
          : [this.arrived({ ...contact, firstRead: 'over' }, serving.seen)]),
        ...(serving === undefined || serving.open ? unseen(message, prior, id, attempt, reads) : []),
      ]);
      const right = outcomes.filter((outcome) => matches(outcome, emitted, serving?.seen));
      if (right.length === 0)
        throw new Verdict(explain(id, attempt, serving?.seen, message, outcomes, emitted));
      const before = message.forms;
      message.forms = distinct(right.map(({ form }) => form));
      if (serving !== undefined) message.servedAt = attempt.now;
      noteAbsence(message, id, attempt, reads);
      knowledge.push({ id, before, after: message.forms, isAbsent: message.absentSince !== undefined });
      contact.messages.set(id, message);
    }
    if (resync) {
      const { silentUntil, emitAfter } = replaced;
      const isKnown = Number.isFinite(emitAfter);
      const baseline = attempt.now + 1_000;
      Object.assign(contact, { firstRead: 'goes on', resyncing: true });
      Object.assign(
        contact,
        isKnown ? { silentUntil, emitAfter } : { silentUntil: baseline, emitAfter: baseline },
      );
    }
    if (attempt.settled === 0) contact.headAt = attempt.now;
    contact.lastAt = attempt.now;
    if (!isSound(reads) || hasChanged(reads)) contact.troubledAt = attempt.now;
    if (mayBeComplete(reads)) {
      if (contact.firstRead === 'goes on') contact.firstRead = 'perhaps over';
      contact.completeAt = attempt.now;
      contact.completeOrder = reads.at(-1)?.order ?? '';
      contact.wasInOrder = reads.every(({ inOrder }) => inOrder);
    }
    return knowledge;
  }

  /** Records that a worker begins to poll a contact. */
  begin(contactId: string): Beginning {
    const contact = this.contacts.get(contactId);
    const messages = [...(contact?.messages ?? [])];
    const known = messages.filter(([, { forms }]) => !forms.every((form) => form === undefined));
    return {
      contactId,
      known: new Set(known.map(([id]) => id)),
      completeAt: contact?.completeAt,
      completeOrder: contact?.completeOrder,
      wasInOrder: contact?.wasInOrder,
    };
  }

  /** Returns the number of commits of a contact. */
  commitsOf(contactId: string): number {
    return this.contacts.get(contactId)?.commits ?? 0;
  }

  /** Returns the ids of known messages of a contact that are not deleted. */
  knownOf(contactId: string): ReadonlySet<string> {
    const messages = [...(this.contacts.get(contactId)?.messages ?? [])];
    const known = messages.filter(([, { forms }]) => forms.some((form) => form?.deleted === false));
    return new Set(known.map(([id]) => id));
  }

  /**
   * Judges pages that a worker read without a commit: they must contain nothing new. Returns false if the
   * pages are not yet judged. Pages with only new messages, beside many known ones, are held back until a
   * known message is met.
   */
  readOn(attempt: PollAttempt): boolean {
    const contact = this.contacts.get(attempt.contactId);
    if (contact === undefined) return true;
    const { known } = attempt;
    const { reads, settled } = withoutProbes(attempt);
    const shown = reads.slice(settled).flatMap(({ seen }) => seen);
    if (known.size > 10 && shown.length > 0 && shown.every(({ id }) => !known.has(id))) return false;
    // Judges only if no other worker has committed meanwhile: its data may be newer.
    if (contact.commits === attempt.commits) this.committedPoll(attempt, [], new Set());
    for (const { id } of shown) {
      const message = contact.messages.get(id);
      if (message !== undefined) message.servedAt = Math.max(message.servedAt, attempt.now);
    }
    return true;
  }

  /** Judges a task that read to its end and committed everything: no required message may be missing. */
  ended(before: Beginning, attempt: PollAttempt): void {
    const contact = this.contacts.get(attempt.contactId);
    if (contact === undefined) return;
    contact.firstRead = 'over';
    contact.resyncing = false;
    this.assertPrompt(contact, before, attempt, withoutProbes(attempt).reads);
  }

  /**
   * Judges the final state after complete, undisturbed reads a minute apart: everything must be known as it
   * is.
   */
  finish(contactId: string, world: readonly ObservedMessage[]): void {
    const contact = this.contacts.get(contactId);
    if (contact === undefined) throw new Verdict(`${contactId} was never listed`);
    for (const seen of world) {
      const forms = contact.messages.get(seen.id)?.forms ?? [undefined];
      const known = forms.some(
        (form) =>
          form?.deleted === false &&
          form.rest === seen.rest &&
          form.delivered === seen.delivered &&
          form.read === seen.read,
      );
      if (!known)
        throw new Verdict(
          `in the end ${seen.wire} is known as ${JSON.stringify(forms)}: a change was missed`,
        );
    }
    const there = new Set(world.map(({ id }) => id));
    const messages = [...contact.messages];
    // Messages seen before a new baseline and deleted before its end may be known or unknown.
    const known = messages.filter(([, { forms }]) => forms.every((form) => form?.deleted === false));
    const perhaps = messages.filter(([, { forms }]) => forms.some((form) => form?.deleted === false));
    const missing = perhaps.filter(([id]) => !there.has(id)).length;
    const gone = known.filter(([id]) => !there.has(id)).map(([id]) => id);
    if (gone.length === 0 || isTooMuch(missing, known.length) || world.length === 0) return;
    throw new Verdict(`in the end the deletions of [${gone.join(', ')}] of ${contactId} were not reported`);
  }

  /** Number of known messages of all contacts. */
  get size(): number {
    return [...this.contacts.values()].reduce((sum, { messages }) => sum + messages.size, 0);
  }

  private count(events: readonly ReceivedEvent[]): void {
    for (const { id, type, contactId, sequence } of events) {
      if (this.ids.has(id)) throw new Verdict(`the id ${id} was given twice`);
      this.ids.add(id);
      const counter = /^(message|contact)\./.test(type) ? (contactId ?? '') : '';
      const next = (this.sequences.get(counter) ?? 0) + 1;
      if (sequence !== next) throw new Verdict(`${type} has sequence ${sequence}, must have ${next}`);
      this.sequences.set(counter, next);
    }
  }

  private seen(contact: Contact, seen: ObservedMessage, prior: KnownForm | undefined): Outcome[] {
    if (prior !== undefined) return [changed(seen, prior)];
    const firstReads =
      contact.firstRead === 'perhaps over' ? (['goes on', 'over'] as const) : [contact.firstRead];
    const { timestamp = -Infinity } = seen;
    const times = new Set([
      contact.emitAfter,
      ...(timestamp > contact.silentUntil ? [contact.silentUntil] : []),
    ]);
    return firstReads.flatMap((firstRead) =>
      [...times].map((emitAfter) => this.arrived({ ...contact, firstRead, emitAfter }, seen)),
    );
  }

  private arrived(contact: Contact, seen: ObservedMessage): Outcome {
    const { kind, delivered, read, rest, timestamp } = seen;
    const form: KnownForm = {
      ...{ kind, delivered, read, rest, deleted: false },
      ...{ deliveredEmitted: delivered, readEmitted: read },
      ...(timestamp === undefined ? {} : { timestamp }),
    };
    const baseline =
      contact.firstRead === 'goes on' &&
      (timestamp === undefined
        ? contact.resyncing || this.settings.undated === 'silent'
        : timestamp <= contact.emitAfter);
    if (baseline) return { types: [], changes: [], form };
    if (kind === 'inbound') return { types: ['message.received'], changes: [], form };
    if (kind === 'other') return { types: ['message.created'], changes: [], form };
    const types = ['message.sent'];
    if (delivered) types.push('message.delivered');
    if (read) types.push('message.read');
    return { types, changes: [], form };
  }

  /** Checks which messages a read without faults must have met. */
  private assertPrompt(
    contact: Contact,
    before: Beginning,
    { contactId, now, hasFailedRequest }: PollAttempt,
    reads: readonly PageRead[],
  ): void {
    const [first] = reads;
    const last = reads.at(-1);
    if (first === undefined || last === undefined || hasFailedRequest || !isSound(reads)) return;
    // One change during the read must not hide messages that exist all the time. More changes may.
    const changes = new Set(reads.map(({ world }) => world)).size - 1;
    if (changes > 1 || reads.some(({ order }) => order !== last.order)) return;
    const { order, pageSize } = last;
    const listed = last.listed.filter((id) => first.listed.includes(id));
    const shuffled = order === 'random';
    // No read of a shuffled list with several pages is guaranteed to be complete. A few shuffled messages may look
    // ordered, and are then read in pages smaller than upstream's.
    const smallest = Math.min(pageSize, ...reads.map(({ limit }) => limit));
    if (shuffled && listed.length > smallest) return;
    const served = new Set(reads.flatMap(({ seen }) => seen.map(({ id }) => id)));
    const missed = listed.filter((id) => !served.has(id));
    const isNew = (id: string): boolean =>
      contact.messages.get(id)?.forms.every((form) => form === undefined) ?? true;
    // A known message that was read marks the end of the new ones, even if it was deleted right after that.
    const firstKnown = first.listed.findLastIndex(
      (id) => before.known.has(id) && (served.has(id) || last.listed.includes(id)),
    );
    // Excludes pages of one message: searching them would cost a second read for every contact with one
    // message. A few shuffled messages may look ordered, and a changed order may be detected only by the next
    // sweep. If timestamps contradict the order of the list, the order cannot be learned.
    const settled = !shuffled && order === before.completeOrder && last.inOrder && before.wasInOrder === true;
    const isLate = (id: string): boolean =>
      pageSize > 1 && settled && isNew(id) && first.listed.indexOf(id) > firstKnown;
    const late = missed.filter(isLate);
    if (late.length > 0)
      throw new Verdict(`a read of ${contactId} without faults missed new messages: [${late.join(', ')}]`);
    if (changes > 0) return;
    const isStale = (at: number | undefined): boolean =>
      at === undefined || at <= now - this.settings.sweepMs;
    // Another worker may have read everything meanwhile.
    const sweep = isStale(before.completeAt) && isStale(contact.completeAt);
    if (sweep && missed.length > 0)
      throw new Verdict(`a complete read of ${contactId} was due, but missed: [${missed.join(', ')}]`);
    // With one message per page and the oldest first, the end of the list is found by a sweep.
    if (pageSize === 1 && order === 'oldestFirst') return;
    const unsettled = missed.filter((id) => this.isOverdue(contact, id, now));
    if (unsettled.length > 0)
      throw new Verdict(`flags of ${contactId} were not polled again: [${unsettled.join(', ')}]`);
  }

  /** Returns true if the flags of a message may still change and were not read for an hour without faults. */
  private isOverdue(contact: Contact, id: string, now: number): boolean {
    const { messages, completeAt = 0, troubledAt = 0 } = contact;
    const message = messages.get(id);
    const [form, other] = message?.forms ?? [];
    if (message === undefined || form === undefined || other !== undefined) return false;
    if (form.deleted || form.kind !== 'outbound') return false;
    if (form.delivered && form.read) return false;
    if (form.timestamp === undefined || now - form.timestamp >= this.settings.settleMs - MINUTE_MS)
      return false;
    // Messages that were missing from a complete read were searched for too.
    return Math.max(message.servedAt, completeAt, troubledAt) <= now - HOUR_MS;
  }

  private assertReplaced(contact: Contact, reads: readonly PageRead[]): void {
    const known = [...contact.messages].filter(([, { forms }]) =>
      forms.some((form) => form?.deleted === false),
    );
    const seen = new Set(reads.flatMap((read) => read.seen.map(({ id }) => id)));
    if (known.length <= 10 || seen.size === 0)
      throw new Verdict('a new baseline was taken although nothing was lost or replaced');
  }
}

/** Returns the required events for a known message that is read again. */
function changed(seen: ObservedMessage, prior: KnownForm): Outcome {
  const types: string[] = [];
  const changes: string[] = [];
  const form: KnownForm = { ...prior, kind: seen.kind, rest: seen.rest, deleted: false };
  let updated = seen.rest !== prior.rest;
  if (prior.deleted) {
    updated = true;
    changes.push('deleted');
  }
  for (const flag of ['delivered', 'read'] as const) {
    if (seen[flag] === prior[flag]) continue;
    form[flag] = seen[flag];
    const emitted = flag === 'delivered' ? 'deliveredEmitted' : 'readEmitted';
    if (seen[flag] && !prior[emitted]) {
      form[emitted] = true;
      types.push(`message.${flag}`);
    } else {
      updated = true;
      changes.push(`status.${flag}`);
    }
  }
  if (updated) types.push('message.updated');
  return { types, changes, form };
}

/**
 * Returns the possible results for a message that a read did not show: unchanged, or reported as deleted if a
 * deletion is allowed.
 */
function unseen(
  { absentSince }: Message,
  prior: KnownForm | undefined,
  id: string,
  { now }: PollAttempt,
  reads: readonly PageRead[],
): Outcome[] {
  const same: Outcome = { types: [], changes: [], form: prior };
  const twice = absentSince !== undefined && absentSince <= now - MINUTE_MS;
  if (prior === undefined || prior.deleted || !twice || !wasAbsent(id, reads)) return [same];
  return [same, { types: ['message.deleted'], changes: [], form: { ...prior, deleted: true } }];
}

/**
 * Records since when a message is missing: since the first read without the message after the last read with
 * it.
 */
function noteAbsence(
  message: Message,
  id: string,
  { began, now }: PollAttempt,
  reads: readonly PageRead[],
): void {
  const shownAt = reads.findLastIndex(({ seen }) => seen.some((one) => one.id === id));
  if (!wasAbsent(id, reads.slice(shownAt + 1))) {
    if (shownAt >= 0) delete message.absentSince;
  } else if (message.absentSince === undefined || (shownAt >= 0 && message.absentSince < began)) {
    message.absentSince = now;
  }
}

/**
 * Returns true if at least one of the reads could not show the message: upstream did not have the message, or
 * hid its messages.
 */
function wasAbsent(id: string, reads: readonly PageRead[]): boolean {
  return reads.some(({ veiled, listed }) => veiled || !listed.includes(id));
}

/** Checks that no deletion is reported while too many messages are missing. */
function assertFew(contact: Contact, reads: PollAttempt['reads']): void {
  const seen = new Set(reads.flatMap((read) => read.seen.map(({ id }) => id)));
  const messages = [...contact.messages];
  const known = messages.filter(([, { forms }]) => forms.some((form) => form?.deleted === false));
  // What another worker found after this read began cannot be missing from it.
  const began = reads[0]?.commits ?? 0;
  const missing = known.filter(
    ([id, { forms, knownSince }]) =>
      !seen.has(id) && knownSince <= began && forms.every((form) => form?.deleted === false),
  );
  if (isTooMuch(missing.length, known.length))
    throw new Verdict(
      `deletions were reported while ${missing.length} of ${known.length} messages were missing`,
    );
}

function isTooMuch(missing: number, of: number): boolean {
  return missing > 10 && missing * 5 > of;
}

/**
 * Removes the reads that only ask whether the list continues after an empty page. Their messages are read again. After
 * an empty page 1, the product does not ask: a read of page 2 is a read like any other.
 */
function withoutProbes({ reads, settled }: PollAttempt): Pick<PollAttempt, 'reads' | 'settled'> {
  const isProbe = (read: PageRead, n: number): boolean => {
    const before = reads[n - 1];
    return (
      before?.elements === 0 &&
      before.page > 1 &&
      before.page + 1 === read.page &&
      before.limit === read.limit
    );
  };
  const count = (some: readonly PageRead[]): number => some.filter((read, n) => !isProbe(read, n)).length;
  return { reads: reads.filter((read, n) => !isProbe(read, n)), settled: count(reads.slice(0, settled)) };
}

/** Returns true if no read had a fault. */
function isSound(reads: readonly PageRead[]): boolean {
  return reads.every(({ sound, veiled }) => sound && !veiled);
}

function hasChanged(reads: readonly PageRead[]): boolean {
  return reads.some(({ world, order }) => world !== reads[0]?.world || order !== reads[0].order);
}

function mayBeComplete(reads: readonly PageRead[]): boolean {
  const seen = new Set(reads.flatMap((read) => read.seen.map(({ id }) => id)));
  const last = reads.at(-1);
  if (!reads.some(({ page }) => page === 1)) return false;
  return runsOf(reads).some(ends) || (last?.listed.every((id) => seen.has(id)) ?? false);
}

/** Splits the reads into runs that begin with page 1. */
function runsOf(reads: readonly PageRead[]): PageRead[][] {
  const runs: PageRead[][] = [];
  for (const read of reads) {
    if (read.page === 1) runs.push([]);
    runs.at(-1)?.push(read);
  }
  return runs;
}

/** Returns true if a page of the run showed only messages that the run had already shown. */
function ends(run: readonly PageRead[]): boolean {
  const seen = new Set<string>();
  for (const { seen: messages } of run) {
    if (messages.every(({ id }) => seen.has(id))) return true;
    for (const { id } of messages) seen.add(id);
  }
  return false;
}

function matches(
  { types, changes }: Outcome,
  emitted: readonly ReceivedEvent[],
  seen: ObservedMessage | undefined,
): boolean {
  if (emitted.length !== types.length || emitted.some(({ type }, n) => type !== types[n])) return false;
  return emitted.every(({ type, data }) => {
    if (type === 'message.deleted') return true;
    if (JSON.stringify(data.message) !== seen?.wire) return false;
    const named = Object.keys(data.changes ?? {});
    if (type === 'message.updated') {
      const ours = named.filter((name) => name === 'deleted' || name.startsWith('status.'));
      return sameMembers(ours, changes);
    }
    if (type === 'message.delivered' || type === 'message.read')
      return sameMembers(named, [`status.${type.slice('message.'.length)}`]);
    return true;
  });
}

function explain(
  id: string,
  { contactId }: PollAttempt,
  seen: ObservedMessage | undefined,
  { forms, absentSince }: Message,
  outcomes: readonly Outcome[],
  emitted: readonly ReceivedEvent[],
): string {
  return [
    `message ${id} of ${contactId}`,
    `known as ${JSON.stringify(forms)}${absentSince === undefined ? '' : `, absent since ${absentSince}`}`,
    `read as ${seen?.wire ?? 'nothing'}`,
    `must be reported as ${outcomes.map(({ types, changes }) => `[${[...types, ...changes].join(', ')}]`).join(' or ')}`,
    `was reported as [${words(emitted)}]`,
  ].join('\n  ');
}

function words(events: readonly ReceivedEvent[]): string {
  return events
    .map(({ type, contactId = '', data }) => `${type} ${contactId} ${JSON.stringify(data)}`)
    .join('; ');
}

function sameMembers(some: readonly string[], others: readonly string[]): boolean {
  return JSON.stringify([...some].sort()) === JSON.stringify([...others].sort());
}

function distinct<T>(values: readonly T[]): T[] {
  return [...new Map(values.map((value) => [JSON.stringify(value), value])).values()];
}
