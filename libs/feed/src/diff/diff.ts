import type { EventTypeOf, NewEvent } from '#events';
import type { UpstreamMessage } from '#upstream';
import { type FirstReadEventRule, emitsEventAtFirstRead } from './first-read.js';
import type { ComparedMessage } from './compared-message.js';
import {
  type FingerprintField,
  fieldNamesOf,
  fieldsReportedAsOther,
  type SeenFingerprint,
} from '../form/fingerprint.js';
import type { KnownMessage } from '../snapshot/known-message.js';
import {
  type MessageDifference,
  isMessageChangeEmitted,
  chooseFingerprintToStore,
  NO_MESSAGE_DIFFERENCE,
  chooseFingerprintAfterChangeWithoutEvent,
} from '../form/message-form.js';
import type { BoundSend } from '../ports.js';
import {
  updateVolatileMessageFields,
  type VolatileMessageFieldsUpdate,
  EMPTY_VOLATILE_MESSAGE_FIELDS_UPDATE,
  NO_VOLATILE_MESSAGE_FIELDS,
  type VolatileMessageFields,
} from '../form/volatile-message-fields.js';

/** What a read found out about the messages of a contact. */
export interface DiffInput {
  contactId: string;
  /** Messages that the read returned, each once, oldest first, and their comparison with the snapshot. */
  compared: readonly ComparedMessage[];
  /** The volatile fields of the contact's messages, as determined by earlier reads. Absent if there are none. */
  volatility?: VolatileMessageFields;
  /** The sends that some of these messages belong to, by message id. */
  sends: ReadonlyMap<string, BoundSend>;
  /**
   * Decides which messages of the contact's first read emit events, and which belong to the baseline. Absent
   * for later reads.
   */
  firstReadEventRule?: FirstReadEventRule;
  /**
   * Each new change of a message gets a revision above this number. Lower revisions may belong to changes that Redis
   * lost. 0 if absent.
   */
  revisionFloor?: number;
}

/** Events and snapshots that result from a comparison. Both must be committed in one step. */
export interface DiffResult {
  /**
   * Events in the order in which they are recorded: those of new messages, oldest message first, then those
   * of changed messages.
   */
  events: NewEvent[];
  /** New snapshots by message id: of the new messages, and of the messages whose snapshot changes. */
  known: Map<string, KnownMessage>;
  /** New state of the volatile fields of the contact's messages, and which fields become muted or unmuted. */
  volatile: VolatileMessageFieldsUpdate;
}

/**
 * Changed fields of a message, by field name. `from` is absent if the snapshot does not contain the former
 * value.
 */
type Changes = Record<string, { from?: unknown; to: unknown }>;

/**
 * Returns the events and the new snapshots of messages that were compared with their snapshots. Has no side effects.
 */
export function diffMessages(input: DiffInput): DiffResult {
  const arrivals: NewEvent[] = [];
  const alterations: NewEvent[] = [];
  const known = new Map<string, KnownMessage>();
  const volatile = volatileFieldsUpdateOf(input.compared, input.volatility);
  for (const { message, seen, before, form } of input.compared) {
    const change =
      before === undefined || form === undefined
        ? arrival(message, seen, input, volatile)
        : alteration(message, seen, before, form, input, volatile);
    if (change === undefined) continue;
    known.set(message.id, change.known);
    (before === undefined ? arrivals : alterations).push(...change.events);
  }
  return { events: [...arrivals, ...alterations], known, volatile };
}

function volatileFieldsUpdateOf(
  compared: readonly ComparedMessage[],
  volatility: VolatileMessageFields = NO_VOLATILE_MESSAGE_FIELDS,
): VolatileMessageFieldsUpdate {
  const differs = compared.some(({ form }) => form?.isChanged === true);
  if (!differs && volatility.size === 0) return EMPTY_VOLATILE_MESSAGE_FIELDS_UPDATE;
  const read = compared.flatMap(({ message, seen, before, form }) =>
    before === undefined || before.deleted || form === undefined
      ? []
      : {
          message,
          fingerprint: seen,
          differing: form.changedFields,
          hasOtherState: hasOtherState(message, before),
        },
  );
  return updateVolatileMessageFields(volatility, read);
}

interface MessageChange {
  events: NewEvent[];
  known: KnownMessage;
}

const ARRIVALS = { inbound: 'message.received', outbound: 'message.sent', other: 'message.created' } as const;

function arrival(
  message: UpstreamMessage,
  seen: SeenFingerprint,
  input: DiffInput,
  volatile: VolatileMessageFieldsUpdate,
): MessageChange {
  const { direction, delivered, read, timestamp } = message;
  const known: KnownMessage = {
    direction,
    delivered,
    read,
    // If a flag is already set when the message is first seen, no later read emits `message.delivered` or
    // `message.read` for this flag.
    deliveredEmitted: delivered,
    readEmitted: read,
    fingerprint: chooseFingerprintToStore(message, seen, volatile),
    revision: input.revisionFloor ?? 0,
    deleted: false,
  };
  if (timestamp !== undefined) known.timestamp = timestamp;
  const isEmitted =
    input.firstReadEventRule === undefined ||
    emitsEventAtFirstRead(input.firstReadEventRule, message, input.sends.has(message.id));
  if (!isEmitted) return { events: [], known };
  const collector = new EventCollector(message, known, input);
  collector.emit(ARRIVALS[direction]);
  if (direction === 'outbound') {
    if (delivered) collector.emit('message.delivered', { 'status.delivered': { from: false, to: true } });
    if (read) collector.emit('message.read', { 'status.read': { from: false, to: true } });
  }
  return { events: collector.events, known };
}

function alteration(
  message: UpstreamMessage,
  seen: SeenFingerprint,
  before: KnownMessage,
  form: MessageDifference,
  input: DiffInput,
  volatile: VolatileMessageFieldsUpdate,
): MessageChange | undefined {
  if (form === NO_MESSAGE_DIFFERENCE && !hasOtherState(message, before)) return undefined;
  const isFormEmitted = isMessageChangeEmitted(form, volatile);
  const fingerprint = isFormEmitted
    ? chooseFingerprintToStore(message, seen, volatile)
    : chooseFingerprintAfterChangeWithoutEvent(message, seen, form, volatile);
  if (fingerprint === undefined && !hasOtherState(message, before)) return undefined;
  const known: KnownMessage = {
    ...before,
    direction: message.direction,
    fingerprint: fingerprint ?? before.fingerprint,
    deleted: false,
  };
  // Upstream may add or correct the timestamp later. The timestamp decides how long the flags of the message are
  // checked.
  if (message.timestamp !== undefined) known.timestamp = message.timestamp;
  delete known.missingSince;
  const collector = new EventCollector(message, known, input);
  const updates: Changes = {};
  if (before.deleted) updates.deleted = { from: true, to: false };
  if (isFormEmitted) {
    for (const field of fieldNamesOf(form.changedFields & ~volatile.muted))
      updates[field] = { to: valueOf(message, field) };
  }
  const flags = [
    { flag: 'delivered', emittedFlag: 'deliveredEmitted', type: 'message.delivered' },
    { flag: 'read', emittedFlag: 'readEmitted', type: 'message.read' },
  ] as const;
  for (const { flag, emittedFlag, type } of flags) {
    if (message[flag] === before[flag]) continue;
    const change = { [`status.${flag}`]: { from: before[flag], to: message[flag] } };
    known[flag] = message[flag];
    if (message[flag] && !before[emittedFlag]) {
      known[emittedFlag] = true;
      collector.emit(type, change);
    } else {
      Object.assign(updates, change);
    }
  }
  // If `isFormEmitted` is true, the hash of the whole message has changed. The event is then emitted even if
  // `updates` is empty: by chance, the changed field may have the same 16-bit hash as before.
  if (isFormEmitted || Object.keys(updates).length > 0) collector.emit('message.updated', updates);
  return { events: collector.events, known };
}

/**
 * Returns true if the message's flags differ from the snapshot, or if the snapshot marks the message as
 * missing or deleted. A missing message that returns before it counts as deleted causes no event, but its
 * snapshot changes.
 */
function hasOtherState({ delivered, read }: UpstreamMessage, before: KnownMessage): boolean {
  return (
    delivered !== before.delivered ||
    read !== before.read ||
    before.deleted ||
    before.missingSince !== undefined
  );
}

/**
 * Returns the `subject` of a message's events. The ids are encoded as JSON, so that different messages have
 * different subjects, whatever characters their ids contain.
 */
export function eventSubjectOfMessage(contactId: string, messageId: string): string {
  return `message:${JSON.stringify([contactId, messageId])}`;
}

/** Collects the events of one message. Each event gets the next revision of the message. */
class EventCollector {
  readonly events: NewEvent[] = [];
  private readonly subject: string;

  constructor(
    private readonly message: UpstreamMessage,
    private readonly known: KnownMessage,
    private readonly input: DiffInput,
  ) {
    this.subject = eventSubjectOfMessage(input.contactId, message.id);
  }

  emit(type: EventTypeOf<'message'>, changes?: Changes): void {
    const { contactId, sends, revisionFloor = 0 } = this.input;
    const { trace, ...ours } = sends.get(this.message.id) ?? {};
    const data: Record<string, unknown> = { contactId, message: this.message.raw, ...ours };
    if (changes !== undefined) data.changes = changes;
    this.known.revision = Math.max(this.known.revision, revisionFloor) + 1;
    this.events.push({
      type,
      contactId,
      subject: this.subject,
      revision: this.known.revision,
      data,
      ...(trace === undefined ? {} : { trace }),
    });
  }
}

function valueOf({ raw }: UpstreamMessage, field: FingerprintField): unknown {
  return field === 'other' ? fieldsReportedAsOther(raw) : (raw[field] ?? null);
}
