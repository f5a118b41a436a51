import { listOf, word } from '../checks.js';
import type { Input } from '../input.js';
import { InvalidInput, NotFound } from '../input-errors.js';
import type { SimulatorCore } from '../simulator-core.js';
import type { Contact, Message } from '../world/entities.js';

/**
 * A control verb: takes the JSON body and returns the JSON reply. Reads its whole input before it changes
 * anything.
 * @throws InvalidInput, NotFound
 */
export type Verb = (core: SimulatorCore, body: unknown) => object;

export type Verbs = Readonly<Record<string, Verb>>;

export const ID = word();
const IDS = listOf(ID, '', 1);

/**
 * Returns a contact, including deleted and hidden ones.
 * @throws NotFound
 */
export function contactNamed(core: SimulatorCore, id: string): Contact {
  const contact = core.world.contacts.find(id);
  if (contact === undefined) throw new NotFound('contactId', 'contact');
  return contact;
}

/**
 * Returns a message, including deleted and pending ones.
 * @throws NotFound
 */
export function messageNamed(core: SimulatorCore, id: string): Message {
  const message = core.world.messages.find(id);
  if (message === undefined) throw new NotFound('id', 'message');
  return message;
}

/** Reads the ids from the field `single` or from the list `many`. */
export function idsOf(input: Input, single: string, many: string): string[] {
  const one = input.maybe(single, ID, '');
  const list = input.maybe(many, IDS, []);
  if (one !== undefined && list !== undefined)
    throw new InvalidInput(many, `cannot be combined with ${single}`);
  if (one !== undefined) return [one];
  if (list === undefined) throw new InvalidInput(single, 'is required');
  return list;
}
