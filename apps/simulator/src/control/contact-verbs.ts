import { listOf, phoneNumber, whole, word } from '../checks.js';
import type { Check } from '../checks.js';
import { Input } from '../input.js';
import type { JsonObject } from '../json.js';
import { isObject } from '../json.js';
import { InvalidInput } from '../input-errors.js';
import type { SimulatorCore } from '../simulator-core.js';
import type { NewContact } from '../world/contacts.js';
import type { Contact } from '../world/entities.js';
import type { Verbs } from './verb.js';
import { ID, contactNamed, idsOf } from './verb.js';

const COUNT = whole(1, 100_000);
const NAME = word();
const PHONE = phoneNumber();

export const contactVerbs: Verbs = {
  contacts: (core, body) => {
    const wanted = readNewContacts(core, body);
    return { contacts: core.act((world) => wanted.map((one) => described(world.contacts.create(one)))) };
  },

  'contacts/edit': (core, body) => {
    const input = new Input(body);
    const contact = contactNamed(core, input.required('contactId', ID, ''));
    const name = input.maybe('name', NAME, '');
    const fields = extraFields(input);
    core.act((world) => {
      world.contacts.edit(contact, name, fields);
    });
    return { contact: described(contact) };
  },

  'contacts/delete': (core, body) => {
    const contacts = readNamed(core, body);
    core.act((world) => {
      contacts.forEach((contact) => {
        world.contacts.delete(contact);
      });
    });
    return { contacts: contacts.map(described) };
  },

  'contacts/restore': (core, body) => {
    const contacts = readNamed(core, body);
    core.act((world) => {
      contacts.forEach((contact) => {
        world.contacts.restore(contact);
      });
    });
    return { contacts: contacts.map(described) };
  },

  'contacts/renumber-id': (core, body) => {
    const input = new Input(body);
    const contact = contactNamed(core, input.required('contactId', ID, ''));
    const newId = input.maybe('newId', ID, '');
    input.done();
    core.act((world) => {
      world.contacts.renumber(contact, newId);
    });
    return { contact: described(contact) };
  },
};

export function described(contact: Contact): {
  id: string;
  phoneNumber: string;
  name: string;
  state: string;
} {
  const { id, phoneNumber: number, name, state } = contact;
  return { id, phoneNumber: number, name, state };
}

function readNamed(core: SimulatorCore, body: unknown): Contact[] {
  const input = new Input(body);
  const ids = idsOf(input, 'contactId', 'contactIds');
  input.done();
  return ids.map((id) => contactNamed(core, id));
}

/** Reads `{count}`, `{contacts: [...]}` or the fields of one contact. */
function readNewContacts(core: SimulatorCore, body: unknown): NewContact[] {
  const input = new Input(body);
  if (input.has('count')) {
    const count = input.required('count', COUNT, 1);
    input.done();
    return unusedNumbers(core, count).map((number) => ({ phoneNumber: number }));
  }
  if (!input.has('contacts')) return [readNewContact(input)];
  const many = input.required('contacts', listOf(asIs, undefined, 1), []);
  input.done();
  const wanted = many.map((one, index) => readNewContact(new Input(one, `contacts[${index}]`)));
  requireCreatable(core, wanted);
  return wanted;
}

const asIs: Check<unknown> = (value) => value;

function readNewContact(input: Input): NewContact {
  const number = input.required('phoneNumber', PHONE, '');
  const name = input.maybe('name', NAME, '');
  const id = input.maybe('id', ID, '');
  return { phoneNumber: number, name, id, fields: extraFields(input) };
}

/** Reads undocumented fields, either from `fields` or from unknown top-level fields. */
function extraFields(input: Input): JsonObject {
  const given = input.raw('fields');
  if (given !== undefined && !isObject(given)) throw new InvalidInput('fields', 'must be an object');
  return { ...input.rest(), ...new Input(given, 'fields').rest() };
}

/**
 * Rejects phone numbers and ids that already belong to a contact, or that are in the list twice. This happens before
 * any contact is created: either all contacts are created, or none.
 */
function requireCreatable(core: SimulatorCore, wanted: readonly NewContact[]): void {
  const { contacts } = core.world;
  const numbers = new Set<string>();
  const ids = new Set<string>();
  for (const [index, { id, phoneNumber: number }] of wanted.entries()) {
    if (numbers.has(number) || contacts.byNumber(number) !== undefined)
      throw new InvalidInput(`contacts[${index}].phoneNumber`, `${number} already belongs to a contact`);
    if (id !== undefined && (ids.has(id) || contacts.find(id) !== undefined))
      throw new InvalidInput(`contacts[${index}].id`, 'is already the id of a contact');
    numbers.add(number);
    if (id !== undefined) ids.add(id);
  }
}

/** Returns unused phone numbers of the form +1556 and seven digits. */
function unusedNumbers(core: SimulatorCore, count: number): string[] {
  const numbers: string[] = [];
  for (let next = 0; numbers.length < count; next++) {
    const number = `+1556${String(next).padStart(7, '0')}`;
    if (core.world.contacts.byNumber(number) === undefined) numbers.push(number);
  }
  return numbers;
}
