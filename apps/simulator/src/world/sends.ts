import type { JsonObject } from '../json.js';
import type { SendPart } from '../ledger-entries.js';
import type { Contacts } from './contacts.js';
import type { WorldContext } from './context.js';
import { upstreamNow } from './context.js';
import type { Messages, NewMessage } from './messages.js';
import type { Contact, Message } from './entities.js';
import { withTypographicCharacters } from './typographic.js';

/** A send request that was read completely. */
export interface IncomingSend {
  readonly requestId: string;
  readonly phoneNumber: string;
  readonly type: string;
  readonly message: string | null;
  readonly fileUrl: string | null;
  readonly parts: readonly SendPart[];
}

/** The later course of a send. Drawn at acceptance, so that late timers do not change any draw. */
interface Outcome {
  readonly lost: boolean;
  readonly delivered: boolean;
  readonly read: boolean;
  readonly reply: boolean;
}

/** Accepts sends and schedules their status changes. */
export class Sends {
  constructor(
    private readonly context: WorldContext,
    private readonly contacts: Contacts,
    private readonly messages: Messages,
  ) {}

  accept(send: IncomingSend): { sendNumber: number; contactId: string; messageIds: string[] } {
    const contact = this.contacts.byNumber(send.phoneNumber) ?? this.#newContact(send.phoneNumber);
    const sendNumber = this.context.ids.nextSendNumber();
    const fate = this.#drawOutcome();
    const prepared = this.#prepare(send, contact, sendNumber);
    const messageIds = prepared.map(({ id }) => id);
    this.context.record({
      kind: 'send.accepted',
      ...send,
      sendNumber,
      contactId: contact.id,
      messageIds,
      lost: fate.lost,
    });
    if (!fate.lost)
      prepared.forEach((message, index) => {
        this.#schedule(message, fate, index);
      });
    this.context.changed(contact.id);
    return { sendNumber, contactId: contact.id, messageIds };
  }

  /** Lists a pending message of a send. */
  show(message: Message): void {
    const { sendTimestamp } = this.context.settings();
    this.messages.show(message, sendTimestamp === 'visible' ? upstreamNow(this.context) : message.timestamp);
  }

  #newContact(phoneNumber: string): Contact {
    const delay = this.context.settings().recipientCountsAsContactDelayMs;
    const contact = this.contacts.create({ phoneNumber, hidden: delay > 0 });
    if (delay > 0)
      this.context.timetable.add(this.context.clock.now() + delay, {
        what: 'showContact',
        contactSerial: contact.serial,
      });
    return contact;
  }

  #drawOutcome(): Outcome {
    const settings = this.context.settings();
    const { decisions } = this.context.random;
    const lost = decisions.chance(settings.sendLostProbability);
    const delivered = decisions.chance(settings.deliveredProbability);
    const read = decisions.chance(settings.readProbability);
    const reply = decisions.chance(settings.autoReply.probability);
    return { lost, delivered, read, reply };
  }

  #prepare(send: IncomingSend, contact: Contact, sendNumber: number): Message[] {
    const { rewriteQuotes, splitTextAndFile } = this.context.settings();
    const text =
      send.message === null || !rewriteQuotes ? send.message : withTypographicCharacters(send.message);
    const attachments = attachmentsOf(send, this.context);
    const common = { contact, direction: 'outbound', origin: 'send', sendNumber } as const;
    const wanted: NewMessage[] =
      splitTextAndFile && text !== null && text !== '' && attachments.length > 0
        ? [
            { ...common, text },
            { ...common, text: '', attachments },
          ]
        : [{ ...common, text: text ?? '', attachments }];
    return wanted.map((message) => this.messages.prepare(message));
  }

  #schedule(message: Message, fate: Outcome, index: number): void {
    const settings = this.context.settings();
    const { timetable, clock } = this.context;
    const messageId = message.id;
    const late = settings.attachmentDelayMs;
    const shownAt = clock.now() + settings.sendVisibleDelayMs + (index > 0 ? late : 0);
    timetable.add(shownAt, { what: 'showMessage', messageId });
    if (index === 0 && late > 0 && message.attachments.length > 0) {
      timetable.add(shownAt + late, { what: 'attach', messageId, attachments: message.attachments });
      message.attachments = [];
    }
    const deliveredAt = shownAt + settings.deliveredDelayMs;
    if (fate.delivered) timetable.add(deliveredAt, { what: 'deliver', messageId });
    if (fate.delivered && fate.read)
      timetable.add(deliveredAt + settings.readDelayMs, { what: 'read', messageId });
    if (fate.reply && index === 0) {
      const { delayMs, text } = settings.autoReply;
      const contactSerial = message.contact.serial;
      timetable.add(shownAt + delayMs, { what: 'reply', contactSerial, text });
    }
  }
}

function attachmentsOf(send: IncomingSend, context: WorldContext): JsonObject[] {
  const attachments: JsonObject[] = [];
  for (const part of send.parts) {
    if (!('sha256' in part)) continue;
    const id = `att_${context.random.ids.hex(12)}`;
    const url = `https://files.simulator.example/${id}`;
    const { filename: name, contentType, size } = part;
    attachments.push({ id, name, contentType, size, url });
  }
  if (send.fileUrl !== null) attachments.push({ id: `att_${context.random.ids.hex(12)}`, url: send.fileUrl });
  return attachments;
}
