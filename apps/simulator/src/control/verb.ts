import { listOf, word } from '../checks.js';
import type { Input } from '../input.js';
import { InvalidInput, NotFound } from '../refusals.js';
import type { SimulatorCore } from '../simulator-core.js';
import type { Contact, Message } from '../world/things.js';

/**
 * One control verb: takes the JSON body, returns the JSON reply. It reads its whole input before it changes anything.
 * @throws InvalidInput, NotFound
 */
export type Verb = (core: SimulatorCore, body: unknown) => object;

export type Verbs = Readonly<Record<string, Verb>>;

export const ID = word();
const IDS = listOf(ID, '', 1);

/** Any contact, deleted ones too. */
export function contactNamed(core: SimulatorCore, id: string, field = 'contactId'): Contact {
  const contact = core.world.contacts.find(id);
  if (contact === undefined) throw new NotFound(field, 'contact');
  return contact;
}

export function messageNamed(core: SimulatorCore, id: string, field = 'id'): Message {
  const message = core.world.messages.find(id);
  if (message === undefined) throw new NotFound(field, 'message');
  return message;
}

/** The field `single`, or the list in `many`. */
export function idsOf(input: Input, single: string, many: string): string[] {
  const one = input.maybe(single, ID, '');
  const list = input.maybe(many, IDS, []);
  if (one !== undefined && list !== undefined) throw new InvalidInput(many, `cannot stand beside ${single}`);
  if (one !== undefined) return [one];
  if (list === undefined) throw new InvalidInput(single, 'is required');
  return list;
}
