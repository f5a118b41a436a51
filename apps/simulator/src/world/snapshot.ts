import type { IdCounters } from './ids.js';
import type { RandomState } from './random.js';
import { stateOf } from './random.js';
import type { Contact, Message } from './entities.js';
import type { Scheduled } from './timetable.js';
import type { World } from './world.js';

/** A world without its contacts, as JSON. */
export interface WorldHeader {
  readonly random: RandomState;
  readonly counters: IdCounters;
  /** Time of a stopped clock, or null if the clock runs. */
  readonly clock: number | null;
  readonly timetable: readonly Scheduled[];
}

/** One contact with all its messages, including pending and deleted ones. */
export interface ContactRecord extends Omit<Contact, 'messages'> {
  readonly messages: readonly Omit<Message, 'contact'>[];
}

export function headerOf(world: World): WorldHeader {
  return {
    random: stateOf(world.random),
    counters: { ...world.ids.counters },
    clock: world.clock.manual ? world.clock.now() : null,
    timetable: world.timetable.pending(),
  };
}

/** Returns one record per contact, so that no single string holds a large world. */
export function recordsOf(world: World): ContactRecord[] {
  const records = new Map<Contact, Omit<Message, 'contact'>[]>();
  for (const contact of world.contacts.all()) records.set(contact, []);
  for (const message of world.messages.all()) {
    const { contact, ...rest } = message;
    records.get(contact)?.push(rest);
  }
  return [...records].map(([contact, messages]) => {
    return { ...contact, messages };
  });
}

/**
 * Fills a new world with the state of an earlier run. The world must have been created with the header's
 * random state.
 */
export function restoreWorld(world: World, header: WorldHeader, records: readonly ContactRecord[]): void {
  Object.assign(world.ids.counters, header.counters);
  if (header.clock !== null) world.clock.stop(header.clock);
  world.timetable.restore(header.timetable);
  for (const { messages, ...rest } of records) {
    // Adopting the messages counts the unread messages.
    const contact: Contact = { ...rest, messages: [], unread: 0 };
    world.contacts.adopt(contact);
    for (const message of messages) world.messages.adopt({ ...message, contact });
  }
}
