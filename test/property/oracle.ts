/**
 * What must be told, worked out from the replies that upstream gave, by the words of the contract. It shares no code with
 * the product, and knows nothing of how the product reads.
 */

/** A message as one reply showed it. */
export interface Seen {
  id: string;
  kind: 'inbound' | 'outbound' | 'other';
  delivered: boolean;
  read: boolean;
  /** Milliseconds since 1970, as the reply wrote it; absent if it wrote none. */
  timestamp?: number;
  /** All else that the reply said of it. */
  rest: string;
  /** The whole of it. */
  wire: string;
}

/** One page that a worker was given. */
export interface PageRead {
  page: number;
  /** How many a page was asked for. */
  limit: number;
  /** Elements, with those that cannot be read. */
  elements: number;
  seen: readonly Seen[];
  /** What upstream had at that moment, the one that would be served as the newest last. */
  listed: readonly string[];
  /** Whether upstream hid what it had: an outage, a hole. */
  veiled: boolean;
  /** Whether nothing was wrong with the reply. */
  sound: boolean;
  /** Counts what happened upstream. */
  world: number;
  /** The order that upstream keeps; `random` is shuffled anew for each read. */
  order: string;
  /** Most messages a page. */
  pageSize: number;
  /** Whether the timestamps of what is listed go with the list. */
  inOrder: boolean;
}

/** A page, and how many commits of the contact there had been when it was asked for. */
export interface PageOfTask extends PageRead {
  commits: number;
}

/** What was known of a contact when a worker began to read it. */
export interface Beginning {
  contactId: string;
  known: ReadonlySet<string>;
  completeAt: number | undefined;
  completeOrder: string | undefined;
  wasInOrder: boolean | undefined;
}

/** All that one worker has read of a contact in one task, but for what it read and was refused to commit. */
export interface PollAttempt {
  contactId: string;
  /** When the task began, in milliseconds since 1970. */
  began: number;
  /** When it last looked at what is known, and how many commits of the contact there had been by then. */
  now: number;
  commits: number;
  /** The messages that were known by then. */
  known: ReadonlySet<string>;
  reads: PageOfTask[];
  /** So many of them were committed, or said nothing new: what they showed was judged. */
  settled: number;
}

export interface ListAttempt {
  now: number;
  /** Upstream's clock in the reply. */
  date: number;
  /**
   * The oracle's {@link Oracle.lastListAt} before and after it looked at what is known: a list that says nothing new stands
   * in no other one's way, so that a first one may be committed in between.
   */
  lastListAt: readonly [before: number | undefined, after: number | undefined];
  contacts: readonly { id: string; wire: string }[];
}

/** An event as a subscriber gets it. */
export interface Told {
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

/** The product told something else than it must. */
export class Verdict extends Error {
  constructor(words: string) {
    super(`The oracle's verdict: ${words}`);
    this.name = 'Verdict';
  }
}

/** What a message is known as. */
interface Form {
  kind: Seen['kind'];
  delivered: boolean;
  read: boolean;
  toldDelivered: boolean;
  toldRead: boolean;
  rest: string;
  deleted: boolean;
  timestamp?: number;
}

interface Message {
  /** What it may be known as; undefined: not known. More than one only while a read leaves it open. */
  forms: (Form | undefined)[];
  /** Since when reads have not shown it while upstream did not have it. */
  absentSince?: number;
  /** When it was last shown. */
  servedAt: number;
}

/**
 * Whether everything of a contact was read for the first time: `perhaps` where a worker died at the end of it, of whom it
 * is not known whether it had concluded.
 */
type FirstRead = 'goes on' | 'perhaps over' | 'over';

interface Contact {
  commits: number;
  tellAfter: number;
  firstRead: FirstRead;
  /** It is a new baseline, which replaces what was lost or replaced. */
  resyncing: boolean;
  messages: Map<string, Message>;
  /** The last read that may have been one of everything, and the order at that time. */
  completeAt?: number;
  completeOrder?: string;
  /** Whether the timestamps told that order rightly. */
  wasInOrder?: boolean;
  /** When it was last read while something went wrong or changed upstream: a look of that time may not have met all. */
  troubledAt?: number;
}

interface ListedContact {
  wire: string;
  deleted: boolean;
  missingSince?: number;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** What one reading of a message leads to: these events, and it is known as this from then on. */
interface Outcome {
  types: string[];
  changes: string[];
  form: Form | undefined;
}

export class Oracle {
  private readonly contacts = new Map<string, Contact>();
  private readonly listed = new Map<string, ListedContact>();
  private readonly sequences = new Map<string, number>();
  private readonly ids = new Set<string>();
  /** Upstream's clock at the last list that was committed. */
  lastListAt: number | undefined;

  constructor(private readonly settings: OracleSettings) {}

  /** Events that came with no commit of a read. */
  stray(events: readonly Told[]): void {
    if (events.length > 0) throw new Verdict(`told without any read that was committed: ${words(events)}`);
  }

  committedList(
    { now, date, lastListAt: [first, later], contacts }: ListAttempt,
    events: readonly Told[],
  ): void {
    this.count(events);
    const lastListAt = events.some(({ type }) => type === 'contact.created') ? later : first;
    const expected: string[] = [];
    const shown = new Map(contacts.map((contact) => [contact.id, contact.wire]));
    for (const [id, wire] of shown) {
      const before = this.listed.get(id);
      if (before === undefined) {
        if (lastListAt !== undefined) expected.push(`contact.created ${id}`);
        this.contacts.set(id, {
          tellAfter: lastListAt === undefined ? date - MINUTE_MS : lastListAt - DAY_MS,
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
    const told = events.map(({ type, contactId }) => `${type} ${contactId ?? ''}`);
    if (!sameMembers(told, expected))
      throw new Verdict(`a contact list must be told as [${expected.join(', ')}], was [${told.join(', ')}]`);
    for (const { type, contactId = '', data } of events) {
      const last = this.listed.get(contactId)?.wire;
      if (JSON.stringify(data.contact) !== last)
        throw new Verdict(
          `${type} ${contactId} shows ${JSON.stringify(data.contact)}, upstream showed ${last ?? ''}`,
        );
    }
  }

  committedPoll(attempt: PollAttempt, events: readonly Told[]): void {
    this.count(events);
    const contact = this.contacts.get(attempt.contactId);
    if (contact === undefined) throw new Verdict(`${attempt.contactId} was polled, no list has shown it`);
    const wrong = events.find(
      ({ type, contactId }) =>
        (contactId !== attempt.contactId || !/^(message\.|contact\.resynced$)/.test(type)) &&
        type !== 'account.suspect',
    );
    if (wrong !== undefined) throw new Verdict(`a poll of ${attempt.contactId} told ${words([wrong])}`);
    const { reads, settled } = withoutProbes(attempt);
    const resync = events.some(({ type }) => type === 'contact.resynced');
    if (resync) this.assertReplaced(contact, reads);
    if (events.some(({ type }) => type === 'message.deleted')) assertFew(contact, reads);
    const byMessage = new Map<string, Told[]>();
    for (const event of events) {
      if (!event.type.startsWith('message.')) continue;
      const id = String(event.data.message?.['id']);
      byMessage.set(id, [...(byMessage.get(id) ?? []), event]);
    }
    const lastStart = reads.findLastIndex(({ page }) => page === 1);
    const { commits } = contact;
    contact.commits += 1;
    const servings = new Map<string, { seen: Seen; open: boolean; at: number }>();
    for (const [n, read] of reads.entries()) {
      // A new baseline is taken from one read of everything, whatever was read before it.
      if (n < settled) continue;
      // What others committed while it was held back may be newer.
      const isOld = read.commits !== commits;
      const open = isOld || (resync && n < lastStart);
      for (const seen of read.seen) servings.set(seen.id, { seen, open, at: n });
    }
    for (const id of new Set([...servings.keys(), ...byMessage.keys(), ...contact.messages.keys()])) {
      const message = contact.messages.get(id) ?? { forms: [undefined], servedAt: attempt.now };
      const serving = servings.get(id);
      const told = byMessage.get(id) ?? [];
      const priors = resync ? [undefined] : message.forms;
      const outcomes = priors.flatMap((prior) => [
        ...(serving === undefined ? [] : this.seen(contact, serving.seen, prior, resync)),
        ...(serving === undefined || serving.open ? unseen(message, prior, id, attempt, reads) : []),
      ]);
      const right = outcomes.filter((outcome) => matches(outcome, told, serving?.seen));
      if (right.length === 0) throw new Verdict(explain(id, attempt, serving?.seen, message, outcomes, told));
      message.forms = distinct(right.map(({ form }) => form));
      if (serving !== undefined) message.servedAt = attempt.now;
      noteAbsence(message, id, attempt, reads);
      contact.messages.set(id, message);
    }
    if (resync)
      Object.assign(contact, { firstRead: 'goes on', resyncing: true, tellAfter: attempt.now + 1_000 });
    if (!isSound(reads) || hasChanged(reads)) contact.troubledAt = attempt.now;
    if (mayBeComplete(reads)) {
      if (contact.firstRead === 'goes on') contact.firstRead = 'perhaps over';
      contact.completeAt = attempt.now;
      contact.completeOrder = reads.at(-1)?.order ?? '';
      contact.wasInOrder = reads.every(({ inOrder }) => inOrder);
    }
  }

  /** A worker begins to read a contact. */
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

  /** How many commits of a contact there were. */
  commitsOf(contactId: string): number {
    return this.contacts.get(contactId)?.commits ?? 0;
  }

  /** The messages of a contact that are known, and not as deleted. */
  knownOf(contactId: string): ReadonlySet<string> {
    const messages = [...(this.contacts.get(contactId)?.messages ?? [])];
    const known = messages.filter(([, { forms }]) => forms.some((form) => form?.deleted === false));
    return new Set(known.map(([id]) => id));
  }

  /**
   * A worker read on without committing what it has read: then that must have said nothing new. Answers whether it is
   * settled: not where all of it is new beside much that is known, which is held back until something known is met.
   */
  readOn(attempt: PollAttempt): boolean {
    const contact = this.contacts.get(attempt.contactId);
    if (contact === undefined) return true;
    const { known } = attempt;
    const { reads, settled } = withoutProbes(attempt);
    const shown = reads.slice(settled).flatMap(({ seen }) => seen);
    if (known.size > 10 && shown.length > 0 && shown.every(({ id }) => !known.has(id))) return false;
    // What another worker committed meanwhile may be newer than what this one was shown; looked after it was.
    if (contact.commits === attempt.commits) this.committedPoll(attempt, []);
    for (const { id } of shown) {
      const message = contact.messages.get(id);
      if (message !== undefined) message.servedAt = Math.max(message.servedAt, attempt.now);
    }
    return true;
  }

  /** It came to its end, and has committed all that it read: nothing that it had to meet may be missing. */
  ended(before: Beginning, attempt: PollAttempt): void {
    const contact = this.contacts.get(attempt.contactId);
    if (contact === undefined) return;
    contact.firstRead = 'over';
    contact.resyncing = false;
    this.assertPrompt(contact, before, attempt, withoutProbes(attempt).reads);
  }

  /** In the end, after quiet reads of everything a minute apart: all is known as it is. */
  finish(contactId: string, world: readonly Seen[]): void {
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
    // What was seen before a new baseline was taken, and gone by then, may be known or not.
    const known = messages.filter(([, { forms }]) => forms.every((form) => form?.deleted === false));
    const perhaps = messages.filter(([, { forms }]) => forms.some((form) => form?.deleted === false));
    const missing = perhaps.filter(([id]) => !there.has(id)).length;
    const gone = known.filter(([id]) => !there.has(id)).map(([id]) => id);
    if (gone.length === 0 || isTooMuch(missing, known.length) || world.length === 0) return;
    throw new Verdict(`in the end the deletions of [${gone.join(', ')}] of ${contactId} were not told`);
  }

  /** How many messages of all contacts are known. */
  get size(): number {
    return [...this.contacts.values()].reduce((sum, { messages }) => sum + messages.size, 0);
  }

  private count(events: readonly Told[]): void {
    for (const { id, type, contactId, sequence } of events) {
      if (this.ids.has(id)) throw new Verdict(`the id ${id} was given twice`);
      this.ids.add(id);
      const counter = /^(message|contact)\./.test(type) ? (contactId ?? '') : '';
      const next = (this.sequences.get(counter) ?? 0) + 1;
      if (sequence !== next) throw new Verdict(`${type} has sequence ${sequence}, must have ${next}`);
      this.sequences.set(counter, next);
    }
  }

  private seen(contact: Contact, seen: Seen, prior: Form | undefined, silent: boolean): Outcome[] {
    if (prior !== undefined) return [changed(seen, prior)];
    if (contact.firstRead !== 'perhaps over') return [this.arrived(contact, seen, silent)];
    return (['goes on', 'over'] as const).map((firstRead) =>
      this.arrived({ ...contact, firstRead }, seen, silent),
    );
  }

  private arrived(contact: Contact, seen: Seen, silent: boolean): Outcome {
    const { kind, delivered, read, rest, timestamp } = seen;
    const form: Form = {
      ...{ kind, delivered, read, rest, deleted: false },
      ...{ toldDelivered: delivered, toldRead: read },
      ...(timestamp === undefined ? {} : { timestamp }),
    };
    const baseline =
      silent ||
      (contact.firstRead === 'goes on' &&
        (timestamp === undefined
          ? contact.resyncing || this.settings.undated === 'silent'
          : timestamp <= contact.tellAfter));
    if (baseline) return { types: [], changes: [], form };
    if (kind === 'inbound') return { types: ['message.received'], changes: [], form };
    if (kind === 'other') return { types: ['message.created'], changes: [], form };
    const types = ['message.sent'];
    if (delivered) types.push('message.delivered');
    if (read) types.push('message.read');
    return { types, changes: [], form };
  }

  /** What a read must have met in which nothing was wrong. */
  private assertPrompt(
    contact: Contact,
    before: Beginning,
    { contactId, now }: PollAttempt,
    reads: readonly PageRead[],
  ): void {
    const [first] = reads;
    const last = reads.at(-1);
    if (first === undefined || last === undefined || !isSound(reads)) return;
    // Whatever shifts once while it is read must not hide what is there all the while; more often, it may.
    const changes = new Set(reads.map(({ world }) => world)).size - 1;
    if (changes > 1 || reads.some(({ order }) => order !== last.order)) return;
    const { order, pageSize } = last;
    const listed = last.listed.filter((id) => first.listed.includes(id));
    const shuffled = order === 'random';
    // Of a shuffled list of several pages, no read can be sure to have met everything.
    if (shuffled && listed.length > pageSize) return;
    const served = new Set(reads.flatMap(({ seen }) => seen.map(({ id }) => id)));
    const missed = listed.filter((id) => !served.has(id));
    const isNew = (id: string): boolean =>
      contact.messages.get(id)?.forms.every((form) => form === undefined) ?? true;
    const firstKnown = listed.findLastIndex((id) => before.known.has(id));
    // Pages of one are not looked for: that would cost every contact of one message a second read. A few messages that
    // are shuffled look like an order now and then, and another order than before may be met only by the next sweep.
    // And where timestamps told another order than the list's, the list's is not to be known.
    const settled = !shuffled && order === before.completeOrder && last.inOrder && before.wasInOrder === true;
    const isLate = (id: string): boolean =>
      pageSize > 1 && settled && isNew(id) && listed.indexOf(id) > firstKnown;
    const late = missed.filter(isLate);
    if (late.length > 0)
      throw new Verdict(
        `a sound read of ${contactId} did not meet what is new at its head: [${late.join(', ')}]`,
      );
    if (changes > 0) return;
    const isStale = (at: number | undefined): boolean =>
      at === undefined || at <= now - this.settings.sweepMs;
    // Another worker may have read everything meanwhile.
    const sweep = isStale(before.completeAt) && isStale(contact.completeAt);
    if (sweep && missed.length > 0)
      throw new Verdict(`all of ${contactId} was due to be read, and was not: [${missed.join(', ')}]`);
    // Where the oldest come first on pages of one, where they end is found by a sweep, not by the length.
    if (pageSize === 1 && order === 'oldestFirst') return;
    const unsettled = missed.filter((id) => this.isOverdue(contact, id, now));
    if (unsettled.length > 0)
      throw new Verdict(`flags of ${contactId} were not looked after: [${unsettled.join(', ')}]`);
  }

  /** Whether its flags may still change, and were not looked at for a quiet hour. */
  private isOverdue(contact: Contact, id: string, now: number): boolean {
    const { messages, completeAt = 0, troubledAt = 0 } = contact;
    const message = messages.get(id);
    const [form, other] = message?.forms ?? [];
    if (message === undefined || form === undefined || other !== undefined) return false;
    if (form.deleted || form.kind !== 'outbound') return false;
    if (form.delivered && form.read) return false;
    if (form.timestamp === undefined || now - form.timestamp >= this.settings.settleMs - MINUTE_MS)
      return false;
    // One that was not there when everything was read was looked for, too.
    return Math.max(message.servedAt, completeAt, troubledAt) <= now - HOUR_MS;
  }

  private assertReplaced(contact: Contact, reads: readonly PageRead[]): void {
    const known = [...contact.messages].filter(([, { forms }]) =>
      forms.some((form) => form?.deleted === false),
    );
    const seen = new Set(reads.flatMap((read) => read.seen.map(({ id }) => id)));
    if (known.length <= 10 || seen.size === 0)
      throw new Verdict('a new baseline was taken, though nothing was lost or replaced');
  }
}

/** What a message that is known was told as, when it is seen again. */
function changed(seen: Seen, prior: Form): Outcome {
  const types: string[] = [];
  const changes: string[] = [];
  const form: Form = { ...prior, kind: seen.kind, rest: seen.rest, deleted: false };
  let updated = seen.rest !== prior.rest;
  if (prior.deleted) {
    updated = true;
    changes.push('deleted');
  }
  for (const flag of ['delivered', 'read'] as const) {
    if (seen[flag] === prior[flag]) continue;
    form[flag] = seen[flag];
    const told = flag === 'delivered' ? 'toldDelivered' : 'toldRead';
    if (seen[flag] && !prior[told]) {
      form[told] = true;
      types.push(`message.${flag}`);
    } else {
      updated = true;
      changes.push(`status.${flag}`);
    }
  }
  if (updated) types.push('message.updated');
  return { types, changes, form };
}

/** A message that a read did not show stays as it was, or is told as deleted if it may be. */
function unseen(
  { absentSince }: Message,
  prior: Form | undefined,
  id: string,
  { now }: PollAttempt,
  reads: readonly PageRead[],
): Outcome[] {
  const same: Outcome = { types: [], changes: [], form: prior };
  const twice = absentSince !== undefined && absentSince <= now - MINUTE_MS;
  if (prior === undefined || prior.deleted || !twice || !wasAbsent(id, reads)) return [same];
  return [same, { types: ['message.deleted'], changes: [], form: { ...prior, deleted: true } }];
}

/** Since when a message is missing: since the first read that misses it after the last one that showed it. */
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

/** Whether upstream did not have it, or did not show what it had, at one of the reads at least. */
function wasAbsent(id: string, reads: readonly PageRead[]): boolean {
  return reads.some(({ veiled, listed }) => veiled || !listed.includes(id));
}

/** No deletion may be told while too much is missing. */
function assertFew(contact: Contact, reads: readonly PageRead[]): void {
  const seen = new Set(reads.flatMap((read) => read.seen.map(({ id }) => id)));
  const messages = [...contact.messages];
  const known = messages.filter(([, { forms }]) => forms.some((form) => form?.deleted === false));
  const missing = known.filter(
    ([id, { forms }]) => !seen.has(id) && forms.every((form) => form?.deleted === false),
  );
  if (isTooMuch(missing.length, known.length))
    throw new Verdict(`deletions were told while ${missing.length} of ${known.length} messages were missing`);
}

function isTooMuch(missing: number, of: number): boolean {
  return missing > 10 && missing * 5 > of;
}

/** Without the looks at what comes after an empty page: what they show is read again. */
function withoutProbes({ reads, settled }: PollAttempt): Pick<PollAttempt, 'reads' | 'settled'> {
  const isProbe = (read: PageRead, n: number): boolean => {
    const before = reads[n - 1];
    return before?.elements === 0 && before.page + 1 === read.page && before.limit === read.limit;
  };
  const count = (some: readonly PageRead[]): number => some.filter((read, n) => !isProbe(read, n)).length;
  return { reads: reads.filter((read, n) => !isProbe(read, n)), settled: count(reads.slice(0, settled)) };
}

/** Whether nothing was wrong with what was read. */
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

/** The stretches of reads that begin with page 1. */
function runsOf(reads: readonly PageRead[]): PageRead[][] {
  const runs: PageRead[][] = [];
  for (const read of reads) {
    if (read.page === 1) runs.push([]);
    runs.at(-1)?.push(read);
  }
  return runs;
}

/** Whether it came to a page that showed nothing that it had not shown before. */
function ends(run: readonly PageRead[]): boolean {
  const seen = new Set<string>();
  for (const { seen: messages } of run) {
    if (messages.every(({ id }) => seen.has(id))) return true;
    for (const { id } of messages) seen.add(id);
  }
  return false;
}

function matches({ types, changes }: Outcome, told: readonly Told[], seen: Seen | undefined): boolean {
  if (told.length !== types.length || told.some(({ type }, n) => type !== types[n])) return false;
  return told.every(({ type, data }) => {
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
  seen: Seen | undefined,
  { forms, absentSince }: Message,
  outcomes: readonly Outcome[],
  told: readonly Told[],
): string {
  return [
    `message ${id} of ${contactId}`,
    `was known as ${JSON.stringify(forms)}${absentSince === undefined ? '' : `, absent since ${absentSince}`}`,
    `was read as ${seen?.wire ?? 'nothing'}`,
    `must be told as ${outcomes.map(({ types, changes }) => `[${[...types, ...changes].join(', ')}]`).join(' or ')}`,
    `was told as [${words(told)}]`,
  ].join('\n  ');
}

function words(events: readonly Told[]): string {
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
