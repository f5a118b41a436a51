import type { Contact, Message } from './entities.js';
import type { World } from './world.js';

const STEP_MS = 1_000;

/**
 * Generates messages of a contact for one read. The messages are not stored.
 * @param from position of the first message, counted from the end of the contact's own messages
 * @param fresh true if each read of a page returns messages with new ids
 */
export function endlessMessages(
  world: World,
  contact: Contact,
  from: number,
  count: number,
  fresh: boolean,
): Message[] {
  const oldest = contact.messages[0]?.timestamp ?? 0;
  const name = `msg_endless_${contact.serial}_${fresh ? `${contact.reads}_` : ''}`;
  return Array.from({ length: Math.max(0, count) }, (_, i) => {
    const position = from + i;
    return {
      id: `${name}${position}`,
      serial: 0,
      contact,
      direction: 'inbound',
      origin: 'injected',
      from: contact.phoneNumber,
      to: world.accountNumber,
      sendNumber: null,
      text: `Endless message ${position}`,
      timestamp: oldest - (position + 1) * STEP_MS,
      service: 'iMessage',
      attachments: [],
      delivered: true,
      read: false,
      fields: {},
      state: 'listed',
      revision: 0,
      arrival: 0,
    };
  });
}
