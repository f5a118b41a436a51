import type { Json, JsonObject } from '../json.js';
import type { Changes, MessageOrigin } from '../ledger-entries.js';
import { InvalidInput } from '../input-errors.js';
import type { WorldContext } from './context.js';
import { upstreamNow } from './context.js';
import type { Contact, Message } from './entities.js';

/** Properties of a new message. */
export interface NewMessage {
  readonly contact: Contact;
  readonly direction: string;
  readonly origin: MessageOrigin;
  readonly text: string;
  readonly id?: string | undefined;
  readonly timestamp?: number | undefined;
  readonly attachments?: JsonObject[] | undefined;
  readonly service?: string | undefined;
  readonly delivered?: boolean | undefined;
  readonly read?: boolean | undefined;
  readonly fields?: JsonObject;
  readonly sendNumber?: number;
}

/** New values of a message. Missing fields stay unchanged. */
export interface MessageEdit {
  readonly text?: string | undefined;
  readonly service?: string | undefined;
  readonly attachments?: JsonObject[] | undefined;
  readonly timestamp?: number | undefined;
  readonly delivered?: boolean | undefined;
  readonly read?: boolean | undefined;
  readonly fields?: JsonObject;
}

/** All messages: an index by id, and for each contact a sorted array of its listed messages. */
export class Messages {
  readonly #byId = new Map<string, Message>();

  constructor(private readonly context: WorldContext) {}

  find(id: string): Message | undefined {
    return this.#byId.get(id);
  }

  all(): IterableIterator<Message> {
    return this.#byId.values();
  }

  /** Creates a message that is not listed yet. */
  prepare(wanted: NewMessage): Message {
    const { contact, direction } = wanted;
    if (wanted.id !== undefined && this.#byId.has(wanted.id))
      throw new InvalidInput('id', 'is already the id of a message');
    const inbound = direction === 'inbound';
    const services = this.context.settings().serviceValues;
    // Draws even if a service is given, so that the service does not change later draws.
    const drawn = services[this.context.random.decisions.below(services.length)] ?? '';
    const serial = this.context.ids.nextSerial();
    const message: Message = {
      id: wanted.id ?? this.#unusedId(serial),
      serial,
      contact,
      direction,
      origin: wanted.origin,
      from: inbound ? contact.phoneNumber : this.context.accountNumber,
      to: inbound ? this.context.accountNumber : contact.phoneNumber,
      sendNumber: wanted.sendNumber ?? null,
      text: wanted.text,
      timestamp: wanted.timestamp ?? upstreamNow(this.context),
      service: wanted.service ?? drawn,
      attachments: wanted.attachments ?? [],
      delivered: wanted.delivered ?? inbound,
      read: wanted.read ?? false,
      fields: wanted.fields ?? {},
      state: 'pending',
      revision: 0,
      arrival: 0,
    };
    this.#byId.set(message.id, message);
    return message;
  }

  create(wanted: NewMessage): Message {
    const message = this.prepare(wanted);
    this.show(message);
    return message;
  }

  /** Adds a complete message, for example from the state file. */
  adopt(message: Message): void {
    this.#byId.set(message.id, message);
    if (message.state === 'listed') this.#insert(message);
  }

  /** Lists a pending message. */
  show(message: Message, timestamp: number = message.timestamp): void {
    if (message.state !== 'pending') return;
    message.timestamp = timestamp;
    message.state = 'listed';
    message.arrival = this.context.ids.nextArrival();
    this.#insert(message);
    this.context.record({
      kind: 'message.created',
      messageId: message.id,
      contactId: message.contact.id,
      direction: message.direction,
      origin: message.origin,
      message: message.text,
      timestamp: new Date(message.timestamp).toISOString(),
      delivered: message.delivered,
      read: message.read,
      sendNumber: message.sendNumber,
    });
    this.context.changed(message.contact.id);
  }

  edit(message: Message, edit: MessageEdit): Changes {
    const changes: Changes = {};
    const note = (field: string, from: Json, to: Json): void => {
      if (JSON.stringify(from) !== JSON.stringify(to)) changes[field] = { from, to };
    };
    const listed = message.state === 'listed';
    if (listed) this.#remove(message);
    if (edit.text !== undefined) {
      note('message', message.text, edit.text);
      message.text = edit.text;
    }
    if (edit.service !== undefined) {
      note('service', message.service, edit.service);
      message.service = edit.service;
    }
    if (edit.attachments !== undefined) {
      note('attachments', message.attachments, edit.attachments);
      message.attachments = edit.attachments;
    }
    if (edit.timestamp !== undefined) {
      note('timestamp', message.timestamp, edit.timestamp);
      message.timestamp = edit.timestamp;
    }
    if (edit.delivered !== undefined) {
      note('status.delivered', message.delivered, edit.delivered);
      message.delivered = edit.delivered;
    }
    if (edit.read !== undefined) {
      note('status.read', message.read, edit.read);
      message.read = edit.read;
    }
    for (const [field, to] of Object.entries(edit.fields ?? {}))
      note(field, message.fields[field] ?? null, to);
    message.fields = { ...message.fields, ...edit.fields };
    if (listed) this.#insert(message);
    this.#recordChanges(message, changes);
    return changes;
  }

  delete(message: Message): void {
    if (message.state === 'deleted') return;
    if (message.state === 'listed') this.#remove(message);
    message.state = 'deleted';
    this.#record('message.deleted', message);
  }

  /** Restores a deleted message at its old position. A message that was never listed is listed now. */
  restore(message: Message): void {
    if (message.state === 'listed') return;
    if (message.state === 'pending' || message.arrival === 0) {
      message.state = 'pending';
      this.show(message);
      return;
    }
    message.state = 'listed';
    this.#insert(message);
    this.#record('message.restored', message);
  }

  /** Sorts all messages again after a change of the setting `sortBy`. */
  resort(contacts: Iterable<Contact>): void {
    for (const contact of contacts) contact.messages.sort((a, b) => this.#compare(a, b));
  }

  clear(): void {
    this.#byId.clear();
  }

  #unusedId(serial: number): string {
    let id = this.context.ids.messageId(serial);
    while (this.#byId.has(id)) id = this.context.ids.messageId(this.context.ids.nextSerial());
    return id;
  }

  #compare(a: Message, b: Message): number {
    const byTime = this.context.settings().sortBy === 'timestamp' ? a.timestamp - b.timestamp : 0;
    return byTime !== 0 ? byTime : a.arrival - b.arrival;
  }

  /** Returns the index of the message in its contact's list, or the index where it belongs. */
  #position(message: Message): number {
    const list = message.contact.messages;
    let low = 0;
    let high = list.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const other = list[middle];
      if (other !== undefined && this.#compare(other, message) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #insert(message: Message): void {
    const { contact } = message;
    const position = this.#position(message);
    if (position === contact.messages.length) contact.messages.push(message);
    else contact.messages.splice(position, 0, message);
    if (isUnread(message)) contact.unread += 1;
  }

  #remove(message: Message): void {
    message.contact.messages.splice(this.#position(message), 1);
    if (isUnread(message)) message.contact.unread -= 1;
  }

  #record(kind: 'message.deleted' | 'message.restored', message: Message): void {
    this.context.record({ kind, messageId: message.id, contactId: message.contact.id });
    this.context.changed(message.contact.id);
  }

  #recordChanges(message: Message, changes: Changes): void {
    if (Object.keys(changes).length === 0) return;
    message.revision += 1;
    const { id: messageId, revision, contact } = message;
    this.context.record({ kind: 'message.changed', messageId, contactId: contact.id, revision, changes });
    this.context.changed(contact.id);
  }
}

function isUnread(message: Message): boolean {
  return message.direction === 'inbound' && !message.read;
}
