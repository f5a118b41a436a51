import type { World } from '../world/world.js';

/**
 * Simulates a new installation of the service: nothing is kept, or only the contacts, or the contacts and their
 * messages. All ids are new. No deletions are recorded, because the user deleted nothing.
 */
export function replaceUpstream(world: World, keep: 'nothing' | 'contacts' | 'everything'): void {
  const old = world.contacts.listed();
  world.clear();
  if (keep === 'nothing') return;
  for (const { phoneNumber, name, fields, messages } of old) {
    const contact = world.contactOf(phoneNumber);
    world.contacts.edit(contact, name, fields);
    if (keep === 'contacts') continue;
    for (const {
      direction,
      origin,
      text,
      timestamp,
      attachments,
      service,
      delivered,
      read,
      fields,
    } of messages)
      world.messages.create({
        ...{ contact, direction, origin, text, timestamp, attachments, service, delivered, read, fields },
      });
  }
}
