/** A send request that got status 200. Those of one recipient are in the order of their replies. */
export interface RequestedSend {
  id: string;
  phoneNumber: string;
  /** Unique in the trial. */
  message: string;
}

/** A send as the gateway shows it at the end. */
export interface ShownSend {
  id: string;
  status: string;
  messageId: string | null;
}

/** A text that upstream accepted, in the order of acceptance. */
export interface AcceptedText {
  phoneNumber: string;
  message: string;
  messageIds: readonly string[];
}

/** The input of the oracle. */
export interface RelayHistory {
  requested: readonly RequestedSend[];
  /** The sends that the gateway still has. */
  shown: readonly ShownSend[];
  accepted: readonly AcceptedText[];
  /** Texts of send requests without a reply: each may have been sent once or not at all. */
  withoutReply: ReadonlySet<string>;
}

export type RelayRule =
  /** Upstream accepted a text twice. */
  | 'duplicate'
  /** Upstream accepted a text without a send request, or for another recipient. */
  | 'unrequested'
  /** Upstream accepted two texts of a recipient in another order than the gateway did. */
  | 'disordered'
  /** The gateway has lost the send. */
  | 'lost'
  /** The send has no final status. */
  | 'unfinished'
  /** The send is bound to the message of another send. */
  | 'misbound'
  /** The status of the send is false: it claims an acceptance that did not happen, or denies one that did. */
  | 'false status';

export interface RelayFault {
  rule: RelayRule;
  about: string;
}

/** Allowed final statuses, depending on whether upstream accepted the send. */
const STATUSES_IF_ACCEPTED = new Set(['accepted', 'sent', 'delivered', 'read', 'unknown']);
const STATUSES_IF_NOT_ACCEPTED = new Set(['unknown', 'failed', 'expired', 'cancelled']);

/** Returns all faults of a relay history. A pure function that shares no code with the product. */
export function judgeRelay(history: RelayHistory): RelayFault[] {
  return [...judgeAccepted(history), ...judgeOrder(history), ...judgeEnds(history)];
}

/** Counts how many accepted sends are bound to the right message. Lost sends do not count here. */
export function boundShare({ requested, shown, accepted }: RelayHistory): {
  bound: number;
  of: number;
} {
  const byText = new Map(accepted.map((text) => [text.message, text]));
  const byId = new Map(shown.map((send) => [send.id, send]));
  const there = requested.filter(({ id, message }) => byText.has(message) && byId.has(id));
  const bound = there.filter(({ id, message }) =>
    byText.get(message)?.messageIds.includes(byId.get(id)?.messageId ?? ''),
  );
  return { bound: bound.length, of: there.length };
}

function judgeAccepted({ requested, accepted, withoutReply }: RelayHistory): RelayFault[] {
  const recipients = new Map(requested.map(({ message, phoneNumber }) => [message, phoneNumber]));
  const seen = new Set<string>();
  return accepted.flatMap(({ message, phoneNumber }) => {
    const about = `"${message}" to ${phoneNumber}`;
    const faults: RelayFault[] = [];
    if (seen.has(message)) faults.push({ rule: 'duplicate', about });
    seen.add(message);
    if (recipients.get(message) !== phoneNumber && !withoutReply.has(message))
      faults.push({ rule: 'unrequested', about });
    return faults;
  });
}

function judgeOrder({ requested, accepted }: RelayHistory): RelayFault[] {
  const places = new Map(requested.map(({ message }, place) => [message, place]));
  const last = new Map<string, { place: number; message: string }>();
  return accepted.flatMap(({ message, phoneNumber }) => {
    const place = places.get(message);
    if (place === undefined) return [];
    const before = last.get(phoneNumber);
    last.set(phoneNumber, { place, message });
    if (before === undefined || before.place <= place) return [];
    return [{ rule: 'disordered' as const, about: `"${message}" after "${before.message}"` }];
  });
}

function judgeEnds({ requested, shown, accepted }: RelayHistory): RelayFault[] {
  const byText = new Map(accepted.map((text) => [text.message, text]));
  const byId = new Map(shown.map((send) => [send.id, send]));
  return requested.flatMap(({ id, message }): RelayFault[] => {
    const send = byId.get(id);
    const about = `${id} "${message}"${send === undefined ? '' : ` is ${send.status}`}`;
    if (send === undefined) return [{ rule: 'lost', about }];
    if (!STATUSES_IF_ACCEPTED.has(send.status) && !STATUSES_IF_NOT_ACCEPTED.has(send.status))
      return [{ rule: 'unfinished', about }];
    const text = byText.get(message);
    if (send.messageId !== null && text?.messageIds.includes(send.messageId) !== true)
      return [{ rule: 'misbound', about: `${about}, bound to ${send.messageId}` }];
    const honest = text === undefined ? STATUSES_IF_NOT_ACCEPTED : STATUSES_IF_ACCEPTED;
    return honest.has(send.status) ? [] : [{ rule: 'false status', about }];
  });
}
