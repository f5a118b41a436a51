import type { World } from '../world/world.js';

/**
 * As when the service was set up anew: nothing is left, or the same people (and their messages) under new ids. No
 * deletions are recorded, for nobody deleted anything.
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
