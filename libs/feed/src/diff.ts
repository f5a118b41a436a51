import type { EventTypeOf, NewEvent } from '#events';
import type { UpstreamMessage } from '#upstream';
import { type FirstRead, isTold } from './first-read.js';
import { changedFields, fingerprintOf, type FingerprintField, otherFields } from './fingerprint.js';
import type { KnownMessage } from './known-message.js';

/** What a poll saw, and what was known before. */
export interface DiffInput {
  contactId: string;
  /** Each message once, oldest first. */
  observed: readonly UpstreamMessage[];
  /** What was known of the observed messages, by id. */
  known: ReadonlyMap<string, KnownMessage>;
  /** Which of the observed are our sends: send id by message id. */
  sends: ReadonlyMap<string, string>;
  /** Present while the contact is read for the first time. */
  firstRead?: FirstRead;
  /** Above which the revisions of new messages begin. */
  revision?: number;
}

/** What is to be committed, in one step. */
export interface DiffResult {
  /** In the order in which they are to be recorded: new messages first, oldest first, then changes. */
  events: NewEvent[];
  /** What is known from now on, of the messages that are new or changed. */
  known: Map<string, KnownMessage>;
}

/** One change of a message. `from` is absent: the former text is not kept. */
type Changes = Record<string, { from?: unknown; to: unknown }>;

/** The differences between what was known and what is seen, as events and as the new knowledge. Pure. */
export function diff(input: DiffInput): DiffResult {
  const arrivals: NewEvent[] = [];
  const alterations: NewEvent[] = [];
  const known = new Map<string, KnownMessage>();
  for (const message of input.observed) {
    const before = input.known.get(message.id);
    const change = before === undefined ? arrival(message, input) : alteration(message, before, input);
    if (change === undefined) continue;
    known.set(message.id, change.known);
    (before === undefined ? arrivals : alterations).push(...change.events);
  }
  return { events: [...arrivals, ...alterations], known };
}

interface MessageChange {
  events: NewEvent[];
  known: KnownMessage;
}

const ARRIVALS = { inbound: 'message.received', outbound: 'message.sent', other: 'message.created' } as const;

function arrival(message: UpstreamMessage, input: DiffInput): MessageChange {
  const { direction, delivered, read, timestamp } = message;
  const known: KnownMessage = {
    direction,
    delivered,
    read,
    // Flags that are set at first sight are told now or never.
    toldDelivered: delivered,
    toldRead: read,
    fingerprint: fingerprintOf(message),
    revision: input.revision ?? 0,
    deleted: false,
    ...(timestamp === undefined ? {} : { timestamp }),
  };
  const told = input.firstRead === undefined || isTold(input.firstRead, message, input.sends.has(message.id));
  if (!told) return { events: [], known };
  const tell = teller(message, known, input);
  tell(ARRIVALS[direction]);
  if (direction === 'outbound') {
    if (delivered) tell('message.delivered', { 'status.delivered': { from: false, to: true } });
    if (read) tell('message.read', { 'status.read': { from: false, to: true } });
  }
  return { events: tell.events, known };
}

function alteration(
  message: UpstreamMessage,
  before: KnownMessage,
  input: DiffInput,
): MessageChange | undefined {
  const fingerprint = fingerprintOf(message);
  const { missingSince, ...remembered } = before;
  const known: KnownMessage = { ...remembered, direction: message.direction, fingerprint, deleted: false };
  const tell = teller(message, known, input);
  const updates: Changes = {};
  if (before.deleted) updates.deleted = { from: true, to: false };
  const otherForm = fingerprint.whole !== before.fingerprint.whole;
  if (otherForm) {
    for (const field of changedFields(before.fingerprint, fingerprint))
      updates[field] = { to: valueOf(message, field) };
  }
  const flags = [
    { flag: 'delivered', told: 'toldDelivered', type: 'message.delivered' },
    { flag: 'read', told: 'toldRead', type: 'message.read' },
  ] as const;
  for (const { flag, told, type } of flags) {
    if (message[flag] === before[flag]) continue;
    const change = { [`status.${flag}`]: { from: before[flag], to: message[flag] } };
    known[flag] = message[flag];
    if (message[flag] && !before[told]) {
      known[told] = true;
      tell(type, change);
    } else {
      Object.assign(updates, change);
    }
  }
  // Once in many thousands, the field that changed cannot be named: its few bits are the same as before.
  if (otherForm || Object.keys(updates).length > 0) tell('message.updated', updates);
  // Seen again before it was told as deleted: that is no event, but it must be remembered.
  const unchanged = tell.events.length === 0 && missingSince === undefined;
  return unchanged ? undefined : { events: tell.events, known };
}

/** What the events of a message are about. Ids are any text: with a mere separator, two messages could share a subject. */
export function messageSubject(contactId: string, messageId: string): string {
  return `message:${JSON.stringify([contactId, messageId])}`;
}

type Teller = ((type: EventTypeOf<'message'>, changes?: Changes) => void) & { events: NewEvent[] };

/** Collects the events of one message, each with the next revision. */
function teller(message: UpstreamMessage, known: KnownMessage, { contactId, sends }: DiffInput): Teller {
  const events: NewEvent[] = [];
  const sendId = sends.get(message.id);
  const tell = (type: EventTypeOf<'message'>, changes?: Changes): void => {
    known.revision += 1;
    events.push({
      type,
      contactId,
      subject: messageSubject(contactId, message.id),
      revision: known.revision,
      data: {
        contactId,
        message: message.raw,
        ...(sendId === undefined ? {} : { sendId }),
        ...(changes === undefined ? {} : { changes }),
      },
    });
  };
  return Object.assign(tell, { events });
}

function valueOf({ raw }: UpstreamMessage, field: FingerprintField): unknown {
  return field === 'other' ? otherFields(raw) : (raw[field] ?? null);
}
