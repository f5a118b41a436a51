import type { Json, JsonObject } from '../json.js';
import { InvalidInput } from '../input-errors.js';
import type { WorldContext } from './context.js';
import type { Contact } from './entities.js';

/** Properties of a new contact. */
export interface NewContact {
  readonly phoneNumber: string;
  readonly name?: string | undefined;
  readonly id?: string | undefined;
  readonly fields?: JsonObject;
  /** True if the contact is not listed until `show`. */
  readonly hidden?: boolean;
}

/** The contacts of the account, indexed by id and by phone number. */
export class Contacts {
  readonly #byId = new Map<string, Contact>();
  readonly #bySerial = new Map<number, Contact>();
  /** The contact that receives the messages of a number. Deleted contacts are not included. */
  readonly #byNumber = new Map<string, Contact>();

  constructor(private readonly context: WorldContext) {}

  /** Returns a contact, including deleted and hidden ones. */
  find(id: string): Contact | undefined {
    return this.#byId.get(id);
  }

  bySerial(serial: number): Contact | undefined {
    return this.#bySerial.get(serial);
  }

  byNumber(phoneNumber: string): Contact | undefined {
    return this.#byNumber.get(phoneNumber);
  }

  /** Returns a contact that clients can read. */
  findListed(id: string): Contact | undefined {
    const contact = this.#byId.get(id);
    return contact?.state === 'listed' ? contact : undefined;
  }

  all(): IterableIterator<Contact> {
    return this.#byId.values();
  }

  listed(): Contact[] {
    return [...this.#byId.values()].filter(({ state }) => state === 'listed');
  }

  create(wanted: NewContact): Contact {
    if (this.#byNumber.has(wanted.phoneNumber))
      throw new InvalidInput('phoneNumber', `${wanted.phoneNumber} already belongs to a contact`);
    if (wanted.id !== undefined) this.#refuseUsedId(wanted.id, 'id');
    const serial = this.context.ids.nextSerial();
    const contact: Contact = {
      id: wanted.id ?? this.#unusedId(serial),
      serial,
      phoneNumber: wanted.phoneNumber,
      name: wanted.name ?? wanted.phoneNumber,
      fields: wanted.fields ?? {},
      state: 'hidden',
      revision: 0,
      messages: [],
      unread: 0,
      reads: 0,
    };
    this.adopt(contact);
    if (wanted.hidden !== true) this.show(contact);
    return contact;
  }

  /** Adds a complete contact, for example from the state file. */
  adopt(contact: Contact): void {
    this.#byId.set(contact.id, contact);
    this.#bySerial.set(contact.serial, contact);
    if (contact.state !== 'deleted') this.#byNumber.set(contact.phoneNumber, contact);
  }

  /** Lists a hidden contact. */
  show(contact: Contact): void {
    if (contact.state !== 'hidden') return;
    contact.state = 'listed';
    this.#record('contact.created', contact);
  }

  edit(contact: Contact, name: string | undefined, fields: JsonObject): void {
    const changes: Record<string, { from: Json; to: Json }> = {};
    if (name !== undefined && name !== contact.name) {
      changes['name'] = { from: contact.name, to: name };
      contact.name = name;
    }
    for (const [field, to] of Object.entries(fields))
      changes[field] = { from: contact.fields[field] ?? null, to };
    contact.fields = { ...contact.fields, ...fields };
    this.#recordChange(contact, changes);
  }

  delete(contact: Contact): void {
    if (contact.state === 'deleted') return;
    contact.state = 'deleted';
    if (this.#byNumber.get(contact.phoneNumber) === contact) this.#byNumber.delete(contact.phoneNumber);
    this.#record('contact.deleted', contact);
  }

  /**
   * Restores a deleted contact with its messages. If another contact has the same phone number now, new messages of
   * this number still belong to that contact.
   */
  restore(contact: Contact): void {
    if (contact.state !== 'deleted') return;
    contact.state = 'listed';
    if (!this.#byNumber.has(contact.phoneNumber)) this.#byNumber.set(contact.phoneNumber, contact);
    this.#record('contact.restored', contact);
  }

  /** Changes the id of a contact. The phone number and the messages stay. */
  renumber(contact: Contact, wanted: string | undefined): void {
    if (wanted !== undefined) this.#refuseUsedId(wanted, 'newId');
    const from = contact.id;
    this.#byId.delete(from);
    contact.id = wanted ?? this.#unusedId(this.context.ids.nextSerial());
    this.#byId.set(contact.id, contact);
    this.#recordChange(contact, { id: { from, to: contact.id } });
  }

  clear(): void {
    this.#byId.clear();
    this.#bySerial.clear();
    this.#byNumber.clear();
  }

  #unusedId(serial: number): string {
    let id = this.context.ids.contactId(serial);
    while (this.#byId.has(id)) id = this.context.ids.contactId(this.context.ids.nextSerial());
    return id;
  }

  #refuseUsedId(id: string, field: string): void {
    if (this.#byId.has(id)) throw new InvalidInput(field, 'is already the id of a contact');
  }

  #record(kind: 'contact.created' | 'contact.deleted' | 'contact.restored', contact: Contact): void {
    this.context.record({ kind, contactId: contact.id, phoneNumber: contact.phoneNumber });
    this.context.changed(contact.id);
  }

  #recordChange(contact: Contact, changes: Record<string, { from: Json; to: Json }>): void {
    if (Object.keys(changes).length === 0) return;
    contact.revision += 1;
    const { id: contactId, revision } = contact;
    this.context.record({ kind: 'contact.changed', contactId, revision, changes });
    this.context.changed(contact.id);
  }
}
