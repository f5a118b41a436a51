import type { LedgerEvent } from '../ledger-entries.js';
import type { Settings } from '../settings.js';
import { Clock } from './clock.js';
import { Contacts } from './contacts.js';
import type { WorldContext } from './context.js';
import { upstreamNow } from './context.js';
import { demoContacts } from './demo.js';
import { Ids } from './ids.js';
import { Messages } from './messages.js';
import type { RandomStreams } from './random.js';
import { Sends } from './sends.js';
import type { Contact, Message } from './entities.js';
import type { ScheduledAction } from './timetable.js';
import { Timetable } from './timetable.js';

/** Options of a world. */
export interface WorldOptions {
  readonly accountNumber: string;
  readonly random: RandomStreams;
  settings(): Readonly<Settings>;
  record(event: LedgerEvent): void;
  changed(contactId: string | null): void;
}

/**
 * The simulated service: contacts, messages, a clock and scheduled actions. Independent of HTTP and files.
 */
export class World {
  readonly clock = new Clock();
  readonly timetable = new Timetable();
  readonly ids: Ids;
  readonly random: RandomStreams;
  readonly contacts: Contacts;
  readonly messages: Messages;
  readonly sends: Sends;
  readonly #context: WorldContext;

  constructor(options: WorldOptions) {
    const { random } = options;
    const ids = new Ids(random, () => options.settings());
    this.#context = { ...options, clock: this.clock, timetable: this.timetable, ids };
    this.ids = ids;
    this.random = random;
    this.contacts = new Contacts(this.#context);
    this.messages = new Messages(this.#context);
    this.sends = new Sends(this.#context, this.contacts, this.messages);
  }

  get accountNumber(): string {
    return this.#context.accountNumber;
  }

  /** Returns the time of upstream's clock, including skew. */
  upstreamNow(): number {
    return upstreamNow(this.#context);
  }

  fillForDemo(): void {
    demoContacts(this.#context, this.contacts, this.messages);
  }

  /** Returns the contact of a number. Creates the contact if needed. */
  contactOf(phoneNumber: string): Contact {
    return this.contacts.byNumber(phoneNumber) ?? this.contacts.create({ phoneNumber });
  }

  /** Adds an inbound message from the contact. */
  typeMessage(contact: Contact, text: string, origin: 'typed' | 'autoReply' | 'insertWhilePaging'): Message {
    return this.messages.create({ contact, direction: 'inbound', origin, text });
  }

  /** Runs all actions that are due now. */
  runDue(): void {
    this.#runUntil(this.clock.now());
  }

  /** Moves a manual clock from one due action to the next, so that each action runs at its own time. */
  advance(ms: number): void {
    const end = this.clock.now() + ms;
    this.#runUntil(end);
    this.clock.moveTo(end);
    this.#context.changed(null);
  }

  /** Removes everything. Later ids are those of a new installation. */
  clear(): void {
    this.contacts.clear();
    this.messages.clear();
    this.timetable.clear();
    this.ids.counters.generation += 1;
    this.#context.changed(null);
  }

  #runUntil(time: number): void {
    for (let next = this.timetable.take(time); next !== undefined; next = this.timetable.take(time)) {
      this.clock.moveTo(next.due);
      this.#execute(next.happening);
    }
  }

  #execute(happening: ScheduledAction): void {
    switch (happening.what) {
      case 'showContact': {
        const contact = this.contacts.bySerial(happening.contactSerial);
        if (contact !== undefined) this.contacts.show(contact);
        return;
      }
      case 'showMessage':
        this.#ifPresent(happening.messageId, (message) => {
          this.sends.show(message);
        });
        return;
      case 'attach':
        this.#ifPresent(happening.messageId, (message) => {
          this.messages.edit(message, { attachments: happening.attachments });
        });
        return;
      case 'deliver':
        this.#ifPresent(happening.messageId, (message) => {
          this.messages.edit(message, { delivered: true });
        });
        return;
      case 'read':
        this.#ifPresent(happening.messageId, (message) => {
          this.messages.edit(message, { read: true });
        });
        return;
      case 'reply': {
        const contact = this.contacts.bySerial(happening.contactSerial);
        if (contact !== undefined && contact.state !== 'deleted')
          this.typeMessage(contact, happening.text, 'autoReply');
        return;
      }
    }
  }

  /** Calls `act` with a message, unless the message was deleted. */
  #ifPresent(messageId: string, act: (message: Message) => void): void {
    const message = this.messages.find(messageId);
    if (message !== undefined && message.state !== 'deleted') act(message);
  }
}
