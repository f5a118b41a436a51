import type { Contact, Message } from './things.js';
import type { World } from './world.js';

const STEP_MS = 1_000;

/**
 * Messages of a contact that are made up as they are read, and kept nowhere.
 * @param from the place of the first, counted from the end of the contact's own messages
 * @param fresh they are others at every read
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
    const place = from + i;
    return {
      id: `${name}${place}`,
      serial: 0,
      contact,
      direction: 'inbound',
      origin: 'injected',
      from: contact.phoneNumber,
      to: world.accountNumber,
      sendNumber: null,
      text: `Without end ${place}`,
      timestamp: oldest - (place + 1) * STEP_MS,
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
