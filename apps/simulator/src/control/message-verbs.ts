import type { Check } from '../checks.js';
import { flag, listOf, phoneNumber, text, whole, word } from '../checks.js';
import { Input } from '../input.js';
import type { JsonObject } from '../json.js';
import { isJson, isObject } from '../json.js';
import { InvalidInput } from '../input-errors.js';
import type { SimulatorCore } from '../simulator-core.js';
import type { Contact, Message } from '../world/entities.js';
import type { World } from '../world/world.js';
import type { Verbs } from './verb.js';
import { ID, contactNamed, idsOf, messageNamed } from './verb.js';

const TEXT = text(100_000_000);
const WORD = word(64);
const PHONE = phoneNumber();
const COUNT = whole(1, 100_000);

export const messageVerbs: Verbs = {
  messages: inject,

  typing: (core, body) => {
    const input = new Input(body);
    const contact = contactNamed(core, input.required('contactId', ID, ''));
    const message = input.required('message', TEXT, '');
    input.done();
    const typed = core.act((world) => world.typeMessage(contact, message, 'typed'));
    return { id: typed.id, contactId: contact.id };
  },

  'messages/flags': (core, body) => {
    const input = new Input(body);
    const messages = idsOf(input, 'id', 'ids').map((id) => messageNamed(core, id));
    const delivered = input.maybe('delivered', flag(), false);
    const read = input.maybe('read', flag(), false);
    input.done();
    if (delivered === undefined && read === undefined)
      throw new InvalidInput('delivered', 'or read is required');
    core.act((world) => {
      messages.forEach((message) => world.messages.edit(message, { delivered, read }));
    });
    return { messages: messages.map(described) };
  },

  /** Marks all messages from the account as read by the contact, like the button of the phone page. */
  'messages/read': (core, body) => {
    const input = new Input(body);
    const contact = contactNamed(core, input.required('contactId', ID, ''));
    input.done();
    const unread = contact.messages.filter(({ direction, read }) => direction === 'outbound' && !read);
    core.act((world) => {
      for (const message of unread) world.messages.edit(message, { delivered: true, read: true });
    });
    return { ids: unread.map(({ id }) => id) };
  },

  'messages/edit': (core, body) => {
    const input = new Input(body);
    const message = messageNamed(core, input.required('id', ID, ''));
    const edit = {
      text: input.maybe('message', TEXT, ''),
      service: input.maybe('service', text(64), ''),
      attachments: input.maybe('attachments', ATTACHMENTS, []),
      timestamp: input.maybe('timestamp', TIMESTAMP, 0),
      fields: extraFields(input),
    };
    const changes = core.act((world) => world.messages.edit(message, edit));
    return { id: message.id, contactId: message.contact.id, changes };
  },

  'messages/delete': (core, body) => {
    const messages = readNamed(core, body);
    core.act((world) => {
      messages.forEach((message) => {
        world.messages.delete(message);
      });
    });
    return { messages: messages.map(described) };
  },

  'messages/restore': (core, body) => {
    const messages = readNamed(core, body);
    core.act((world) => {
      messages.forEach((message) => {
        world.messages.restore(message);
      });
    });
    return { messages: messages.map(described) };
  },
};

/** Accepts a time as ISO 8601 text or in ms since 1970. */
export const TIMESTAMP: Check<number> = (value, field) => {
  const time = typeof value === 'string' ? Date.parse(value) : value;
  // A Date cannot represent times beyond this range.
  if (typeof time !== 'number' || !Number.isInteger(time) || Math.abs(time) > 8_640_000_000_000_000)
    throw new InvalidInput(field, 'must be an ISO 8601 date-time or whole ms since 1970');
  return time;
};

const ATTACHMENT: Check<JsonObject> = (value, field) => {
  if (typeof value === 'string') return { url: value };
  if (isObject(value) && isJson(value)) return value;
  throw new InvalidInput(field, 'must be an object or a URL');
};

const ATTACHMENTS = listOf(ATTACHMENT, {}, 0, 1_000);

function inject(core: SimulatorCore, body: unknown): object {
  const input = new Input(body);
  const direction = input.optional('direction', WORD, 'inbound');
  const owner = readOwner(core, input);
  const count = input.optional('count', COUNT, 1);
  const words = input.optional('text', TEXT, count === 1 ? 'Hello' : 'Message {n}');
  const timestamp = input.maybe('timestamp', TIMESTAMP, 0);
  const intervalMs = input.optional('intervalMs', whole(0, 86_400_000), 0);
  const wanted = {
    direction,
    origin: 'injected' as const,
    id: input.maybe('id', ID, ''),
    attachments: input.maybe('attachments', ATTACHMENTS, []),
    service: input.maybe('service', text(64), ''),
    delivered: input.maybe('delivered', flag(), false),
    read: input.maybe('read', flag(), false),
    fields: fieldsOnly(input),
  };
  input.done();
  if (wanted.id !== undefined && count > 1)
    throw new InvalidInput('id', 'cannot be used for more than one message');
  // The timestamp of the last message must be valid, too.
  TIMESTAMP((timestamp ?? 0) + (count - 1) * intervalMs, 'timestamp', 0);
  return core.act((world) => {
    const contact = owner(world);
    const first = timestamp ?? world.upstreamNow() - (count - 1) * intervalMs;
    const ids: string[] = [];
    for (let n = 1; n <= count; n++) {
      const each = { text: words.replaceAll('{n}', String(n)), timestamp: first + (n - 1) * intervalMs };
      ids.push(world.messages.create({ ...wanted, ...each, contact }).id);
    }
    return { contactId: contact.id, ids };
  });
}

/**
 * Reads the contact of a conversation: an existing contact, or a phone number for which a contact is created
 * if needed.
 */
function readOwner(core: SimulatorCore, input: Input): (world: World) => Contact {
  const contactId = input.maybe('contactId', ID, '');
  const numbers = ['from', 'to', 'phoneNumber'].map((field) => input.maybe(field, PHONE, ''));
  const number = numbers.find((one) => one !== undefined && one !== core.world.accountNumber);
  if (contactId !== undefined) {
    const contact = contactNamed(core, contactId);
    return () => contact;
  }
  if (number === undefined)
    throw new InvalidInput('contactId', 'or from (the phone number of the contact) is required');
  return (world) => world.contactOf(number);
}

function readNamed(core: SimulatorCore, body: unknown): Message[] {
  const input = new Input(body);
  if (!input.has('contactId')) {
    const ids = idsOf(input, 'id', 'ids');
    input.done();
    return ids.map((id) => messageNamed(core, id));
  }
  const contact = contactNamed(core, input.required('contactId', ID, ''));
  input.done();
  return [...core.world.messages.all()].filter((message) => message.contact === contact);
}

function fieldsOnly(input: Input): JsonObject {
  const given = input.raw('fields');
  if (given !== undefined && !isObject(given)) throw new InvalidInput('fields', 'must be an object');
  return new Input(given, 'fields').rest();
}

/**
 * Reads undocumented fields, either from `fields` or from unknown top-level fields. Flags are set by another
 * verb.
 */
function extraFields(input: Input): JsonObject {
  const inFields = fieldsOnly(input);
  const beside = input.rest();
  if ('delivered' in beside || 'read' in beside)
    throw new InvalidInput('delivered', 'and read must be set with messages/flags');
  return { ...beside, ...inFields };
}

function described(message: Message): {
  id: string;
  contactId: string;
  state: string;
  delivered: boolean;
  read: boolean;
} {
  const { id, contact, state, delivered, read } = message;
  return { id, contactId: contact.id, state, delivered, read };
}
