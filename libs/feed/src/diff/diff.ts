import type { EventTypeOf, NewEvent } from '#events';
import type { UpstreamMessage } from '#upstream';
import { type FirstRead, isTold } from './first-read.js';
import {
  fingerprintOf,
  type FingerprintField,
  namesOf,
  otherFields,
  type SeenFingerprint,
} from '../form/fingerprint.js';
import type { KnownMessage } from '../snapshot/known-message.js';
import {
  type FormChange,
  formChange,
  isTold as isFormTold,
  knownForm,
  NO_CHANGE,
  quietForm,
} from '../form/message-form.js';
import type { BoundSend } from '../ports.js';
import { learn, type Lesson, NO_LESSON, NOTHING_VOLATILE, type Volatility } from '../form/volatility.js';

/** Result of a read, and the snapshots to compare the read with. */
export interface DiffInput {
  contactId: string;
  /** Messages of the read, each once, oldest first. */
  observed: readonly UpstreamMessage[];
  /** Snapshots of the observed messages, by message id. */
  known: ReadonlyMap<string, KnownMessage>;
  /** Fingerprints of observed messages that the caller computed before, by message id. */
  fingerprints?: ReadonlyMap<string, SeenFingerprint>;
  /** State of the contact's volatile fields. */
  volatility?: Volatility;
  /** Sends that observed messages belong to, by message id. */
  sends: ReadonlyMap<string, BoundSend>;
  /** Present during the first read of the contact. */
  firstRead?: FirstRead;
  /** New revisions must be higher: lower ones may have been used for events that were lost. */
  revisionFloor?: number;
}

/** Events and snapshots to be committed in one step. */
export interface DiffResult {
  /** Events in the order of the log: new messages first (oldest first), then changes. */
  events: NewEvent[];
  /** Snapshots of the messages that are new or changed. */
  known: Map<string, KnownMessage>;
  /** New state of the contact's volatile fields, and which fields become muted or unmuted. */
  volatile: Lesson;
}

/** Changed fields of a message. `from` is absent where the snapshot does not keep the former value. */
type Changes = Record<string, { from?: unknown; to: unknown }>;

/** Compares observed messages with their snapshots and returns the events and the new snapshots. Pure. */
export function diff(input: DiffInput): DiffResult {
  const arrivals: NewEvent[] = [];
  const alterations: NewEvent[] = [];
  const known = new Map<string, KnownMessage>();
  const comparisons: Comparison[] = [];
  let differs = false;
  for (const message of input.observed) {
    const before = input.known.get(message.id);
    const seen = input.fingerprints?.get(message.id) ?? fingerprintOf(message);
    const form = before && formChange(message, seen, before.fingerprint);
    if (form?.differs === true) differs = true;
    comparisons.push({ message, seen, before, form });
  }
  const volatile = lessonOf(comparisons, differs, input.volatility);
  for (const { message, seen, before, form } of comparisons) {
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

/** Observed message with its snapshot and the difference between both; a new message has no snapshot. */
interface Comparison {
  message: UpstreamMessage;
  seen: SeenFingerprint;
  before: KnownMessage | undefined;
  form: FormChange | undefined;
}

function lessonOf(
  comparisons: readonly Comparison[],
  differs: boolean,
  volatility: Volatility = NOTHING_VOLATILE,
): Lesson {
  if (!differs && volatility.size === 0) return NO_LESSON;
  const read = comparisons.flatMap(({ message, seen, before, form }) =>
    before === undefined || before.deleted || form === undefined
      ? []
      : { message, fingerprint: seen, differing: form.differing },
  );
  return learn(volatility, read);
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
  volatile: Lesson,
): MessageChange {
  const { direction, delivered, read, timestamp } = message;
  const known: KnownMessage = {
    direction,
    delivered,
    read,
    // Flags that are set at first sight are emitted with the arrival or never.
    toldDelivered: delivered,
    toldRead: read,
    fingerprint: knownForm(message, seen, volatile),
    revision: input.revisionFloor ?? 0,
    deleted: false,
  };
  if (timestamp !== undefined) known.timestamp = timestamp;
  const told = input.firstRead === undefined || isTold(input.firstRead, message, input.sends.has(message.id));
  if (!told) return { events: [], known };
  const teller = new Teller(message, known, input);
  teller.tell(ARRIVALS[direction]);
  if (direction === 'outbound') {
    if (delivered) teller.tell('message.delivered', { 'status.delivered': { from: false, to: true } });
    if (read) teller.tell('message.read', { 'status.read': { from: false, to: true } });
  }
  return { events: teller.events, known };
}

function alteration(
  message: UpstreamMessage,
  seen: SeenFingerprint,
  before: KnownMessage,
  form: FormChange,
  input: DiffInput,
  volatile: Lesson,
): MessageChange | undefined {
  if (form === NO_CHANGE && !hasOtherState(message, before)) return undefined;
  const isTold = isFormTold(form, volatile);
  const fingerprint = isTold ? knownForm(message, seen, volatile) : quietForm(message, seen, form, volatile);
  if (fingerprint === undefined && !hasOtherState(message, before)) return undefined;
  const known: KnownMessage = {
    ...before,
    direction: message.direction,
    fingerprint: fingerprint ?? before.fingerprint,
    deleted: false,
  };
  delete known.missingSince;
  const teller = new Teller(message, known, input);
  const updates: Changes = {};
  if (before.deleted) updates.deleted = { from: true, to: false };
  if (isTold) {
    for (const field of namesOf(form.differing & ~volatile.muted))
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
      teller.tell(type, change);
    } else {
      Object.assign(updates, change);
    }
  }
  // Rarely, the changed field cannot be named: its 16 hash bits are the same as before.
  if (isTold || Object.keys(updates).length > 0) teller.tell('message.updated', updates);
  return { events: teller.events, known };
}

/**
 * Returns true if the message's flags differ from the snapshot or the snapshot marks the message as missing or deleted.
 * A message that returns before `message.deleted` causes no event, but the snapshot changes.
 */
function hasOtherState({ delivered, read }: UpstreamMessage, before: KnownMessage): boolean {
  return (
    delivered !== before.delivered ||
    read !== before.read ||
    before.deleted ||
    before.missingSince !== undefined
  );
}

/** Returns the event subject of a message. JSON keeps subjects distinct, whatever characters the ids contain. */
export function messageSubject(contactId: string, messageId: string): string {
  return `message:${JSON.stringify([contactId, messageId])}`;
}

/** Collects the events of one message and assigns each the next revision. */
class Teller {
  readonly events: NewEvent[] = [];
  private readonly subject: string;

  constructor(
    private readonly message: UpstreamMessage,
    private readonly known: KnownMessage,
    private readonly input: DiffInput,
  ) {
    this.subject = messageSubject(input.contactId, message.id);
  }

  tell(type: EventTypeOf<'message'>, changes?: Changes): void {
    const { contactId, sends, revisionFloor = 0 } = this.input;
    const ours = sends.get(this.message.id);
    const data: Record<string, unknown> = { contactId, message: this.message.raw };
    if (ours !== undefined) Object.assign(data, ours);
    if (changes !== undefined) data.changes = changes;
    this.known.revision = Math.max(this.known.revision, revisionFloor) + 1;
    this.events.push({ type, contactId, subject: this.subject, revision: this.known.revision, data });
  }
}

function valueOf({ raw }: UpstreamMessage, field: FingerprintField): unknown {
  return field === 'other' ? otherFields(raw) : (raw[field] ?? null);
}
