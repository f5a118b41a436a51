/** A send that the gateway answered 200; those of one recipient in the order in which that was. */
export interface AskedSend {
  id: string;
  phoneNumber: string;
  /** Unlike every other text of the trial. */
  message: string;
}

/** A send as the gateway shows it at last. */
export interface ShownSend {
  id: string;
  status: string;
  messageId: string | null;
}

/** A text that upstream took, in the order in which it did. */
export interface TakenText {
  phoneNumber: string;
  message: string;
  messageIds: readonly string[];
}

/** All that is judged. */
export interface RelayHistory {
  asked: readonly AskedSend[];
  /** Those that the gateway still knows. */
  shown: readonly ShownSend[];
  taken: readonly TakenText[];
  /** Texts whose request was never answered: each may have gone out once, or not at all. */
  unanswered: ReadonlySet<string>;
}

export type RelayRule =
  /** Upstream took a text twice. */
  | 'doubled'
  /** Upstream took a text that nobody asked for, or for somebody else. */
  | 'unasked'
  /** A recipient got two texts in another order than they were accepted in. */
  | 'disordered'
  /** The gateway does not know the send any more. */
  | 'lost'
  /** The send has come to no end. */
  | 'unended'
  /** The send is bound to a message that is another's. */
  | 'misbound'
  /** The send says more than is true: taken though it was not, or not taken though it was. */
  | 'dishonest';

export interface RelayFault {
  rule: RelayRule;
  about: string;
}

/** What a send may say at last if upstream took it, and if it did not. Both may be unknown. */
const SAID_OF_TAKEN = new Set(['accepted', 'sent', 'delivered', 'read', 'unknown']);
const SAID_OF_NOT_TAKEN = new Set(['unknown', 'failed', 'expired', 'cancelled']);

/** What is wrong with how sends were relayed. Pure; it shares no code with the product. */
export function judgeRelay(history: RelayHistory): RelayFault[] {
  return [...judgeTaken(history), ...judgeOrder(history), ...judgeEnds(history)];
}

/** Of the messages that upstream has of our sends, how many are bound to the right one; a lost send is judged as such. */
export function boundShare({ asked, shown, taken }: RelayHistory): { bound: number; of: number } {
  const byText = new Map(taken.map((text) => [text.message, text]));
  const byId = new Map(shown.map((send) => [send.id, send]));
  const there = asked.filter(({ id, message }) => byText.has(message) && byId.has(id));
  const bound = there.filter(({ id, message }) =>
    byText.get(message)?.messageIds.includes(byId.get(id)?.messageId ?? ''),
  );
  return { bound: bound.length, of: there.length };
}

function judgeTaken({ asked, taken, unanswered }: RelayHistory): RelayFault[] {
  const recipients = new Map(asked.map(({ message, phoneNumber }) => [message, phoneNumber]));
  const seen = new Set<string>();
  return taken.flatMap(({ message, phoneNumber }) => {
    const about = `"${message}" to ${phoneNumber}`;
    const faults: RelayFault[] = [];
    if (seen.has(message)) faults.push({ rule: 'doubled', about });
    seen.add(message);
    if (recipients.get(message) !== phoneNumber && !unanswered.has(message))
      faults.push({ rule: 'unasked', about });
    return faults;
  });
}

function judgeOrder({ asked, taken }: RelayHistory): RelayFault[] {
  const places = new Map(asked.map(({ message }, place) => [message, place]));
  const last = new Map<string, { place: number; message: string }>();
  return taken.flatMap(({ message, phoneNumber }) => {
    const place = places.get(message);
    if (place === undefined) return [];
    const before = last.get(phoneNumber);
    last.set(phoneNumber, { place, message });
    if (before === undefined || before.place <= place) return [];
    return [{ rule: 'disordered' as const, about: `"${message}" after "${before.message}"` }];
  });
}

function judgeEnds({ asked, shown, taken }: RelayHistory): RelayFault[] {
  const byText = new Map(taken.map((text) => [text.message, text]));
  const byId = new Map(shown.map((send) => [send.id, send]));
  return asked.flatMap(({ id, message }): RelayFault[] => {
    const send = byId.get(id);
    const about = `${id} "${message}"${send === undefined ? '' : ` is ${send.status}`}`;
    if (send === undefined) return [{ rule: 'lost', about }];
    if (!SAID_OF_TAKEN.has(send.status) && !SAID_OF_NOT_TAKEN.has(send.status))
      return [{ rule: 'unended', about }];
    const text = byText.get(message);
    if (send.messageId !== null && text?.messageIds.includes(send.messageId) !== true)
      return [{ rule: 'misbound', about: `${about}, bound to ${send.messageId}` }];
    const honest = text === undefined ? SAID_OF_NOT_TAKEN : SAID_OF_TAKEN;
    return honest.has(send.status) ? [] : [{ rule: 'dishonest', about }];
  });
}
