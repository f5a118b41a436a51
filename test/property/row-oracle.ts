/**
 * Computes the conversation rows from what the judged reads made known, from emitted events and from the sends as
 * the API shows them. Shares no code with the product.
 */
import { type KnownForm, type MessageKnowledge, type ReceivedEvent, Verdict } from './oracle.js';
import {
  comparePositions,
  forgetUnreadUpTo,
  hasFailed,
  isExact,
  isPending,
  isUndated,
  latest,
  newContact,
  numberOf,
  numbersIn,
  placeOf,
  type Position,
  positionOf,
  previewOf,
  type RowContact,
  type RowMessage,
  type ShownEntry,
  type ShownRow,
  type ShownSend,
  summaryOf,
  textOf,
} from './row-model.js';

/** A committed read of a contact. */
export interface CommittedRead {
  contactId: string;
  /** Time of the read, in milliseconds since 1970. */
  now: number;
  knowledge: readonly MessageKnowledge[];
  events: readonly ReceivedEvent[];
  /** Ids of the sends whose messages the worker of this read found, in this read or in earlier ones. */
  foundSends: ReadonlySet<string>;
  /** True if the clock stood still between each read of the known state and the reply of upstream after it. */
  isClockSteady: boolean;
}

/** Maximum number of sends without a message, per phone number, whose texts a row has: those of the latest sends. */
const MAX_PREVIEWED_SENDS = 3;
const MAX_UNREAD = 100;
/** Maximum number of unanswered messages that a row has. If there are more, some are left out. */
const MAX_WAITING = 101;

export class RowOracle {
  private readonly contacts = new Map<string, RowContact>();
  private readonly sends = new Map<string, ShownSend>();
  /** Ids of the sends to a number that have no message, the latest first. */
  private readonly previewed = new Map<string, string[]>();
  /**
   * Ids of sends whose message is known, but whose row may still show them: the poll that found the message was not
   * committed, because its worker died or another worker was first. The row shows the message after the next commit of
   * the same worker, or after the next change of the message.
   */
  private readonly lingering = new Set<string>();
  /** The contact to which a number leads. Undefined if a read leaves that open. */
  private readonly owners = new Map<string, string | undefined>();
  private readonly shownBefore = new Map<string, { content: string; revision: number }>();

  /** Records a committed contact list with its events. */
  committedList(contacts: readonly { id: string; wire: string }[], events: readonly ReceivedEvent[]): void {
    for (const { id, wire } of contacts) {
      const before = this.contacts.get(id);
      const contact = before ?? newContact();
      const rows = this.numberRows();
      contact.isListed = true;
      this.contacts.set(id, contact);
      for (const number of numbersIn(wire)) {
        contact.numbers.add(number);
        if (!this.owners.has(number)) this.owners.set(number, id);
      }
      this.noteReplaced(contact, rows);
    }
    for (const { type, contactId = '' } of events) {
      const contact = this.contacts.get(contactId);
      if (type === 'contact.deleted' && contact !== undefined) contact.isListed = false;
    }
  }

  /** Records a committed read of a contact. The sends must be up to date. */
  committedPoll({ contactId, now, knowledge, events, foundSends, isClockSteady }: CommittedRead): void {
    const contact = this.contacts.get(contactId);
    if (contact === undefined) throw new Verdict(`${contactId} was polled, but never listed`);
    const rows = this.numberRows();
    const isResync = events.some(({ type }) => type === 'contact.resynced');
    if (isResync) {
      contact.isResyncing = true;
      contact.messages.clear();
    }
    let isMoved = isResync;
    const reappeared = new Set<string>();
    for (const { id, before, after, isAbsent } of knowledge) {
      const forms = after.flatMap((one) => (one === undefined || one.deleted ? [] : one));
      const [form] = forms;
      if (form === undefined) {
        if (contact.messages.delete(id)) isMoved = true;
        continue;
      }
      const isNew = isResync || before.every((one) => one === undefined || one.deleted);
      const isCertain = forms.length === after.length;
      if (isNew && contact.everKnown.has(id)) {
        isMoved = true;
        reappeared.add(id);
      }
      // The row gets the time at which the read began, and the message's own time only from a later read.
      if (isNew && !isClockSteady && (form.timestamp ?? now) > now) contact.isBlurred = true;
      this.noteNumber(contact, contactId, form, isNew ? isCertain : undefined);
      contact.messages.set(id, {
        id,
        at: contact.messages.get(id)?.at ?? Math.min(form.timestamp ?? now, now),
        kind: form.kind,
        texts: [...new Set(forms.map(textOf))],
        ...{ isCertain, isAbsent },
      });
      contact.everKnown.add(id);
    }
    // After a new baseline, the row still knows which of its messages are seen, although they are emitted again.
    const received = receivedIds(events);
    if (received.some((id) => reappeared.has(id))) contact.isUnreadOpen = true;
    // A row forgets the messages that a new baseline lacks. If a later baseline has them again, they count as seen.
    if ([...reappeared].some((id) => contact.unread.has(id) && !received.includes(id)))
      contact.isUnreadOpen = true;
    if (isMoved && (!isClockSteady || knowledge.some(isUndated))) contact.isBlurred = true;
    const hasAbsent = [...contact.messages.values()].some((one) => one.isAbsent);
    if (hasAbsent && events.some(({ type }) => type === 'message.deleted')) contact.mayLackMessages = true;
    this.noteUnread(contact, events);
    this.noteReplaced(contact, rows);
    this.dropShownAsMessages(contactId, knowledge, foundSends);
  }

  /** Records a send after it was accepted or changed. */
  send(send: ShownSend): void {
    const isNew = !this.sends.has(send.id);
    this.sends.set(send.id, send);
    if (isNew) {
      const ids = [...(this.previewed.get(send.phoneNumber) ?? []), send.id];
      ids.sort((a, b) => comparePositions(this.positionOfSend(b), this.positionOfSend(a)));
      this.previewed.set(send.phoneNumber, ids.slice(0, MAX_PREVIEWED_SENDS));
    }
    if (send.status === 'cancelled') this.dropPreview(send);
    else if (this.isMessageKnown(send)) this.lingering.add(send.id);
  }

  /** Returns the ids of the messages that belong to a send. */
  boundMessages(): ReadonlySet<string> {
    return new Set([...this.sends.values()].flatMap(({ messageId }) => messageId ?? []));
  }

  /**
   * Records that the messages of a row up to a message were marked as seen.
   * @param isDone the reply
   */
  markedSeen(contactId: string, messageId: string, isDone: boolean): void {
    const contact = this.contacts.get(contactId);
    const message = contact?.messages.get(messageId);
    if (contact?.isListed !== true) {
      if (isDone) throw new Verdict(`${messageId} of ${contactId} was marked as seen without a row`);
      return;
    }
    if (isExact(contact)) {
      const { lastOutbound, waiting, last } = summaryOf(contact);
      const isInRow = message !== undefined && [lastOutbound, last, ...waiting].includes(message);
      if (isDone !== isInRow)
        throw new Verdict(`marking ${messageId} of ${contactId} as seen was ${isDone ? 'done' : 'refused'}`);
    }
    if (!isDone) return;
    // The row contains a message that is not known to exist any more.
    if (message === undefined) contact.isBlurred = true;
    else forgetUnreadUpTo(contact, message);
  }

  /** Records that one message of a row was marked as seen. */
  markedAloneSeen(contactId: string, messageId: string): void {
    const contact = this.contacts.get(contactId);
    if (contact?.isListed === true) contact.unread.delete(messageId);
  }

  /**
   * Judges all rows.
   * @param rows the list of rows
   * @param number a phone number
   * @param byNumber the row to which the phone number leads
   */
  check(rows: readonly ShownRow[], number: string, byNumber: ShownRow | undefined): void {
    const { shown: numberRows, open } = this.numberRows();
    const listed = [...this.contacts].filter(([, { isListed }]) => isListed);
    const shown = new Map(rows.map((row) => [row.id, row]));
    const expected = new Set([...listed.map(([id]) => id), ...numberRows]);
    for (const id of expected) if (!shown.has(id)) throw new Verdict(`the row ${id} is missing`);
    for (const id of shown.keys())
      if (!expected.has(id) && !open.has(id) && !this.isOpen([id]))
        throw new Verdict(`the row ${id} must not exist`);
    for (const [id, contact] of listed) this.checkContact(contact, id, shown.get(id));
    for (const number of numberRows) this.checkNumber(number, shown.get(number));
    for (const row of rows) this.checkRevision(row);
    const sorted = [...rows].sort((a, b) => comparePositions(placeOf(b), placeOf(a)));
    if (rows.some((row, n) => row !== sorted[n]))
      throw new Verdict(
        `the list is not sorted: ${rows.map((row) => JSON.stringify(placeOf(row))).join(' ')}`,
      );
    const owner = this.ownerOf(number) ?? number;
    if (
      !this.isOpen([number]) &&
      !open.has(number) &&
      JSON.stringify(byNumber) !== JSON.stringify(shown.get(owner))
    )
      throw new Verdict(`${number} leads to ${JSON.stringify(byNumber)}, must lead to ${owner}`);
  }

  /** Records that the row of a contact must equal what upstream shows, because complete reads have ended. */
  finish(contactId: string): void {
    const contact = this.contacts.get(contactId);
    if (contact !== undefined) Object.assign(contact, { isResyncing: false, mayLackMessages: false });
  }

  private checkContact(contact: RowContact, id: string, row: ShownRow | undefined): void {
    if (row === undefined) throw new Verdict(`the row ${id} is missing`);
    const demand = (field: string, expected: unknown, actual: unknown): void => {
      if (JSON.stringify(expected) !== JSON.stringify(actual))
        throw new Verdict(
          `${field} of ${id} must be ${JSON.stringify(expected)}, is ${JSON.stringify(actual)}\n  ${JSON.stringify(row)}`,
        );
    };
    demand('contactId', id, row.contactId);
    demand('phoneNumbers', [...contact.numbers].sort(), [...row.phoneNumbers].sort());
    if (contact.replaced.size > 0 && !contact.replaced.has(row.replaces ?? ''))
      throw new Verdict(
        `${id} must replace ${[...contact.replaced].join(' or ')}, not ${row.replaces ?? ''}`,
      );
    if (contact.replaced.size === 0) demand('replaces', undefined, row.replaces);
    const numbers = [...contact.numbers].filter((number) => this.ownerOf(number) === id);
    if (this.isOpen(contact.numbers)) return;
    this.checkCounts(demand, numbers, row);
    if (contact.isBlurred || [...contact.messages.values()].some(({ isCertain }) => !isCertain)) return;
    const { waiting } = summaryOf(contact);
    this.checkLast(demand, contact, numbers, row);
    this.checkActivity(demand, numbers, row);
    if (!isExact(contact)) {
      if (row.unreadCount > contact.unread.size)
        throw new Verdict(
          `${row.unreadCount} messages of ${id} are unread, at most ${contact.unread.size} may be`,
        );
      return;
    }
    if (waiting.length > MAX_WAITING) return;
    demand('waitingSince', waiting[0]?.at, row.waitingSince);
    const unread = waiting.filter((message) => contact.unread.has(message.id)).length;
    const expected = Math.min(unread, MAX_UNREAD);
    demand(
      'unreadCount',
      contact.isUnreadOpen ? Math.min(row.unreadCount, expected) : expected,
      row.unreadCount,
    );
  }

  private checkLast(
    demand: Demand,
    contact: RowContact,
    numbers: readonly string[],
    { last: shown }: ShownRow,
  ): void {
    const sends = this.previewedSends(numbers, shown).map(positionOf);
    const { last: lastMessage, lastPresent } = summaryOf(contact);
    const [last, other] = [lastMessage, lastPresent].map((one) =>
      latest([...(one === undefined ? [] : [one]), ...sends]),
    );
    // A row may leave out messages that upstream no longer shows.
    const isOther = shown?.id === other?.id;
    const mayLack = contact.mayLackMessages && !isOther && last?.id !== shown?.id;
    if (mayLack) return;
    const expected = isOther ? other : last;
    const message = isOther ? lastPresent : lastMessage;
    if (expected === message) checkLastMessage(demand, message, shown);
    else demand('last', this.entryOfSend(expected), shown);
  }

  private checkNumber(number: string, row: ShownRow | undefined): void {
    if (row === undefined) throw new Verdict(`the row ${number} is missing`);
    const demand = (field: string, expected: unknown, actual: unknown): void => {
      if (JSON.stringify(expected) !== JSON.stringify(actual))
        throw new Verdict(
          `${field} of ${number} must be ${JSON.stringify(expected)}, is ${JSON.stringify(actual)}\n  ${JSON.stringify(row)}`,
        );
    };
    const { contactId, phoneNumbers, replaces, unreadCount, waitingSince } = row;
    demand(
      'the row',
      { phoneNumbers: [number], unreadCount: 0 },
      { contactId, phoneNumbers, replaces, unreadCount, waitingSince },
    );
    this.checkCounts(demand, [number], row);
    demand(
      'last',
      this.entryOfSend(latest(this.previewedSends([number], row.last).map(positionOf))),
      row.last,
    );
    this.checkActivity(demand, [number], row);
  }

  private checkCounts(demand: Demand, numbers: readonly string[], row: ShownRow): void {
    const sends = [...this.sends.values()].filter(({ phoneNumber }) => numbers.includes(phoneNumber));
    demand('pendingSends', sends.filter(isPending).length, row.pendingSends);
    demand('failedSends', sends.filter(hasFailed).length, row.failedSends);
  }

  /** The last activity may stay at the acceptance of a send that got a message of an earlier time. */
  private checkActivity(
    demand: Demand,
    numbers: readonly string[],
    { last, lastActivityAt }: ShownRow,
  ): void {
    const isOfBoundSend = [...this.sends.values()].some(
      ({ phoneNumber, createdAt, status, messageId }) =>
        numbers.includes(phoneNumber) &&
        createdAt === lastActivityAt &&
        createdAt > (last?.at ?? 0) &&
        messageId !== null &&
        status !== 'cancelled',
    );
    if (!isOfBoundSend) demand('lastActivityAt', last?.at, lastActivityAt);
  }

  private checkRevision(row: ShownRow): void {
    const { revision, ...rest } = row;
    const content = JSON.stringify(rest);
    const before = this.shownBefore.get(row.id);
    this.shownBefore.set(row.id, { content, revision });
    if (before === undefined || (content === before.content && revision === before.revision)) return;
    if (revision <= before.revision)
      throw new Verdict(
        `the revision of ${row.id} went from ${before.revision} to ${revision}:\n  ${before.content}\n  ${content}`,
      );
  }

  private noteNumber(
    contact: RowContact,
    contactId: string,
    form: KnownForm,
    isUsed: boolean | undefined,
  ): void {
    const number = numberOf(form);
    if (number === undefined) return;
    contact.numbers.add(number);
    // Only a new message uses its number.
    if (isUsed === true) this.owners.set(number, contactId);
    else if (isUsed === false && this.owners.get(number) !== contactId) this.owners.set(number, undefined);
  }

  private noteUnread(contact: RowContact, events: readonly ReceivedEvent[]): void {
    for (const { type, data } of events) {
      const id = String(data.message?.['id']);
      const message = contact.messages.get(id);
      if (type === 'message.received' && message !== undefined) contact.unread.set(id, message);
      else if (type === 'message.deleted') contact.unread.delete(id);
    }
    const { lastOutbound, lastPresentOutbound } = summaryOf(contact);
    // The row may lack an outbound message that upstream no longer shows. Older messages may then count as unread.
    const mayBeLacking = contact.mayLackMessages && lastOutbound !== lastPresentOutbound;
    if (mayBeLacking) contact.isUnreadOpen = true;
    const upTo = mayBeLacking ? lastPresentOutbound : lastOutbound;
    if (upTo !== undefined) forgetUnreadUpTo(contact, upTo);
  }

  private noteReplaced(contact: RowContact, before: NumberRows): void {
    const now = this.numberRows();
    const gone = [...before.shown, ...before.open].filter(
      (number) => contact.numbers.has(number) && !now.shown.has(number),
    );
    const replaced = gone.filter((number) => before.shown.has(number) && !now.open.has(number));
    const perhaps = gone.filter((number) => before.open.has(number) || now.open.has(number));
    if (replaced.length > 0) contact.replaced = new Set(replaced);
    if (perhaps.length > 0)
      contact.replaced = new Set([...(contact.replaced.size === 0 ? [''] : contact.replaced), ...perhaps]);
  }

  private numberRows(): NumberRows {
    const numbers = [...new Set([...this.sends.values()].map(({ phoneNumber }) => phoneNumber))];
    const hasSends = (number: string): boolean => {
      const sends = [...this.sends.values()].filter(({ phoneNumber }) => phoneNumber === number);
      return (
        sends.some((send) => isPending(send) || hasFailed(send)) || this.previewedSends([number]).length > 0
      );
    };
    const mayHaveSends = (number: string): boolean =>
      hasSends(number) || (this.previewed.get(number) ?? []).length > 0;
    const isShown = (number: string): boolean =>
      !this.isOpen([number]) && this.ownerOf(number) === undefined && hasSends(number);
    const isOpen = (number: string): boolean =>
      this.isOpen([number])
        ? mayHaveSends(number)
        : this.ownerOf(number) === undefined && mayHaveSends(number) && !hasSends(number);
    return { shown: new Set(numbers.filter(isShown)), open: new Set(numbers.filter(isOpen)) };
  }

  /** Returns the listed contact to which a number leads. */
  private ownerOf(number: string): string | undefined {
    const owner = this.owners.get(number);
    return owner !== undefined && this.contacts.get(owner)?.isListed === true ? owner : undefined;
  }

  /** Returns true if a read leaves open to which contact one of the numbers leads. */
  private isOpen(numbers: Iterable<string>): boolean {
    return [...numbers].some((number) => this.owners.has(number) && this.owners.get(number) === undefined);
  }

  /** Returns the sends that rows of the numbers show. `shown` is the last entry of the row, which may be a lingering send. */
  private previewedSends(numbers: readonly string[], shown?: ShownEntry): ShownSend[] {
    return numbers
      .flatMap((number) => this.previewed.get(number) ?? [])
      .filter((id) => !this.lingering.has(id) || id === shown?.id)
      .flatMap((id) => this.sends.get(id) ?? []);
  }

  private isMessageKnown({ contactId, messageId }: ShownSend): boolean {
    return messageId !== null && this.contacts.get(contactId ?? '')?.everKnown.has(messageId) === true;
  }

  /** After a committed poll, rows show no send whose message the poll showed, if it was changed or found by the worker. */
  private dropShownAsMessages(
    contactId: string,
    knowledge: readonly MessageKnowledge[],
    foundSends: ReadonlySet<string>,
  ): void {
    const forms = new Map(knowledge.map(({ id, before, after }) => [id, [before, after]] as const));
    for (const send of this.sends.values()) {
      if (send.contactId !== contactId || !this.isMessageKnown(send)) continue;
      const shown = forms.get(send.messageId ?? '');
      const [before, after] = shown ?? [[], []];
      const isCertain = before.length <= 1 && after.length <= 1;
      const isChanged = isCertain && JSON.stringify(before) !== JSON.stringify(after);
      if (isChanged || (shown !== undefined && foundSends.has(send.id))) this.dropPreview(send);
      else this.lingering.add(send.id);
    }
  }

  private dropPreview({ id, phoneNumber }: ShownSend): void {
    this.lingering.delete(id);
    this.previewed.set(
      phoneNumber,
      (this.previewed.get(phoneNumber) ?? []).filter((one) => one !== id),
    );
  }

  private positionOfSend(id: string): Position {
    return { at: this.sends.get(id)?.createdAt ?? 0, id };
  }

  private entryOfSend(position: Position | undefined): ShownEntry | undefined {
    const send = this.sends.get(position?.id ?? '');
    if (send === undefined) return undefined;
    return {
      ...{ kind: 'send', at: send.createdAt, id: send.id, direction: 'outbound' },
      preview: previewOf(send.message ?? ''),
    };
  }
}

function receivedIds(events: readonly ReceivedEvent[]): string[] {
  return events.flatMap(({ type, data }) =>
    type === 'message.received' ? [String(data.message?.['id'])] : [],
  );
}

/** Numbers of sends. */
interface NumberRows {
  /** Those whose sends have a row of their own, because no contact has the number. */
  shown: Set<string>;
  /** Those of which a read leaves open to which contact they lead. They may have a row of their own. */
  open: Set<string>;
}

type Demand = (field: string, expected: unknown, actual: unknown) => void;

function checkLastMessage(
  demand: Demand,
  message: RowMessage | undefined,
  shown: ShownEntry | undefined,
): void {
  if (message === undefined) {
    demand('last', undefined, shown);
    return;
  }
  const { id, at, kind, texts } = message;
  const previews = texts.map(previewOf);
  const preview = previews.find((one) => one === shown?.preview) ?? previews[0] ?? null;
  demand('last', { kind: 'message', at, id, direction: kind, preview }, shown);
}
