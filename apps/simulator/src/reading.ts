import type { Answer } from './answers.js';
import { JSON_TYPE, errorAnswer } from './answers.js';
import type { Fault } from './fault-kinds.js';
import type { Json, JsonObject } from './json.js';
import { AddressSigner } from './signed-addresses.js';
import type { SimulatorCore } from './simulator-core.js';
import {
  contactOnWire,
  withDeepValues,
  inConfiguredShape,
  flagsLetter,
  invalidUtf8Bytes,
  messageOnWire,
  damaged,
} from './wire-shapes.js';
import { endlessMessages } from './world/endless.js';
import type { Contact, Message } from './world/entities.js';
import type { World } from './world/world.js';

const DEFAULT_LIMIT = 20;

/** A request for one page of messages. */
export interface PageRequest {
  readonly requestId: string;
  readonly contactId: string;
  readonly page: number;
  readonly limit: number;
}

/** Serves the list of contacts, in the order of their creation. */
export function serveContacts(core: SimulatorCore, requestId: string, fault: Fault | null): Answer {
  const { settings } = core;
  const out = settings.outage === true || settings.outage === 'contacts';
  const contacts = out ? [] : core.world.contacts.listed();
  core.ledger.record({
    kind: 'list.served',
    requestId,
    contactId: null,
    page: null,
    limit: null,
    ids: contacts.map(({ id }) => id),
    flags: '',
    revisions: contacts.map(({ revision }) => revision),
    damage: damageOf(fault),
  });
  const signer = new AddressSigner(settings.signedAddresses, requestId);
  const shown = contacts.map((contact) => signer.contact(contactOnWire(contact, settings)));
  return listAnswer(shown, settings.contactsShape, fault);
}

/** Serves one page of a contact's messages, or 404 if the contact is not listed. */
export function servePage(core: SimulatorCore, wanted: PageRequest, fault: Fault | null): Answer {
  const { settings } = core;
  const { requestId, contactId } = wanted;
  const out = settings.outage === true || settings.outage === 'messages';
  const contact = core.world.contacts.findListed(contactId);
  if (contact === undefined && !out) return errorAnswer(404, 'Not Found', 'Contact not found');
  const limit = settings.limitIgnored
    ? DEFAULT_LIMIT
    : Math.min(wanted.limit, settings.limitCap ?? Number.POSITIVE_INFINITY);
  const page = settings.pageIgnored ? 1 : wanted.page;
  const messages = contact === undefined || out ? [] : pageOf(core, contact, page, limit);
  const { missingPageStatus } = settings;
  if (missingPageStatus !== null && !out && page > 1 && messages.length === 0)
    return errorAnswer(missingPageStatus, 'Not Found', 'Page not found');
  if (messages.some(({ id }) => settings.failingMessageIds.includes(id)))
    return errorAnswer(500, 'Internal Server Error', 'Could not serialise the page');
  core.ledger.record({
    kind: 'list.served',
    requestId,
    contactId,
    page,
    limit,
    ids: messages.map(({ id }) => id),
    flags: messages.map(flagsLetter).join(''),
    revisions: messages.map(({ revision }) => revision),
    damage: damageOf(fault),
  });
  const signer = new AddressSigner(settings.signedAddresses, requestId);
  const shown = messages.map((message) => signer.message(messageOnWire(message, settings)));
  const padTo = paddingFor(core, contactId, messages);
  const answer = listAnswer(shown, settings.messagesShape, fault);
  if (contact !== undefined && !out) shiftWhilePaging(core.world, contact, settings.insertWhilePaging);
  return padTo === null ? answer : { ...answer, padTo };
}

/** Reads `page` and `limit`, or returns an error reply. */
export function readPaging(query: unknown): { page: number; limit: number } | Answer {
  const values = (typeof query === 'object' && query !== null ? query : {}) as Record<string, unknown>;
  const page = positive(values['page'], 1);
  const limit = positive(values['limit'], DEFAULT_LIMIT);
  if (page === null) return errorAnswer(400, 'Bad Request', 'page must be a whole number from 1');
  if (limit === null) return errorAnswer(400, 'Bad Request', 'limit must be a whole number of at least 1');
  return { page, limit };
}

function positive(value: unknown, fallback: number): number | null {
  if (value === undefined) return fallback;
  return typeof value === 'string' && /^[1-9]\d{0,8}$/.test(value) ? Number(value) : null;
}

function pageOf(core: SimulatorCore, contact: Contact, page: number, limit: number): Message[] {
  const own = ownPageOf(core, contact, page, limit);
  const { endlessPages } = core.settings;
  if (endlessPages?.contactId !== contact.id) return own;
  const from = (page - 1) * limit + own.length - contact.messages.length;
  return [...own, ...endlessMessages(core.world, contact, from, limit - own.length, endlessPages.fresh)];
}

function ownPageOf(core: SimulatorCore, contact: Contact, page: number, limit: number): Message[] {
  const all = contact.messages;
  const start = (page - 1) * limit;
  switch (core.settings.order) {
    case 'oldestFirst':
      return all.slice(start, start + limit);
    case 'newestFirst': {
      const end = all.length - start;
      return end <= 0 ? [] : all.slice(Math.max(0, end - limit), end).reverse();
    }
    case 'random':
      return core.world.random.shuffles.shuffled(all).slice(start, start + limit);
  }
}

function listAnswer(items: readonly JsonObject[], shape: string, fault: Fault | null): Answer {
  const body: Json = inConfiguredShape(damaged(items, fault), shape);
  const json = withDeepValues(JSON.stringify(body));
  return {
    status: 200,
    body: fault?.kind === 'invalidUtf8' ? invalidUtf8Bytes(json) : json,
    contentType: JSON_TYPE,
  };
}

/** Returns the kind of the fault that damages a list, or null. Delays do not damage a list. */
function damageOf(fault: Fault | null): string | null {
  return fault === null || fault.kind === 'slow' || fault.kind === 'drip' ? null : fault.kind;
}

function paddingFor(core: SimulatorCore, contactId: string, messages: readonly Message[]): number | null {
  const huge = core.settings.hugePage;
  if (huge === null) return null;
  if (huge.contactId !== null && huge.contactId !== contactId) return null;
  if (huge.messageId !== null && !messages.some(({ id }) => id === huge.messageId)) return null;
  if (huge.per === 'page') return huge.bytes;
  return huge.bytes * (huge.messageId === null ? messages.length : 1);
}

function shiftWhilePaging(world: World, contact: Contact, everyNth: number): void {
  contact.reads += 1;
  if (everyNth > 0 && contact.reads % everyNth === 0)
    world.typeMessage(
      contact,
      `Written while the list was being read (${contact.reads})`,
      'insertWhilePaging',
    );
}
