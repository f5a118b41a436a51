import type { FastifyInstance, FastifyReply } from 'fastify';
import { refuseForeignPages } from './foreign-pages.js';
import { Input } from './input.js';
import { answerControlError } from './control-api.js';
import { ID, contactNamed } from './control/verb.js';
import type { SimulatorCore } from './simulator-core.js';
import type { Contact, Message } from './world/entities.js';

/** Maximum number of messages that the page shows, from the end of the conversation. */
const MAX_MESSAGES = 200;
/** Time during which changes are collected into one event, in milliseconds. */
const GATHER_MS = 40;
const HEARTBEAT_MS = 15_000;
/** Maximum number of unsent bytes of a stream. A page that reads too slowly is disconnected, and then reconnects. */
const MAX_UNSENT_BYTES = 1_048_576;

/** Serves the data of the phone page under `/_simulator/phone`. The page's actions use the control verbs. */
export function phoneApi(server: FastifyInstance, { core }: { core: SimulatorCore }, done: () => void): void {
  server.addHook('onRequest', refuseForeignPages);
  server.setErrorHandler(answerControlError);

  server.get('/contacts', (_request, reply) => {
    const contacts = core.act((world) => world.contacts.listed().map(listedContact));
    contacts.sort((a, b) => b.lastAt - a.lastAt);
    return reply.send({ accountNumber: core.world.accountNumber, contacts });
  });

  server.get('/messages', (request, reply) => {
    const input = new Input(request.query);
    const contact = contactNamed(core, input.required('contactId', ID, ''));
    const messages = core.act(() => contact.messages.slice(-MAX_MESSAGES).map(shownMessage));
    return reply.send({ contact: listedContact(contact), total: contact.messages.length, messages });
  });

  server.get('/stream', (_request, reply) => {
    stream(core, reply);
  });
  done();
}

function listedContact(contact: Contact): {
  id: string;
  name: string;
  phoneNumber: string;
  lastText: string;
  lastAt: number;
} {
  const { id, name, phoneNumber } = contact;
  const last = contact.messages.at(-1);
  const lastText = last === undefined ? '' : last.text === '' ? 'Attachment' : last.text.slice(0, 200);
  return { id, name, phoneNumber, lastText, lastAt: last?.timestamp ?? 0 };
}

function shownMessage(message: Message): object {
  const { id, direction, text, timestamp, service, delivered, read } = message;
  const attachments = message.attachments.map(({ name, url }) => {
    const label = name ?? url;
    return typeof label === 'string' ? label : 'Attachment';
  });
  return { id, direction, text, timestamp, service, delivered, read, attachments };
}

/**
 * Streams the ids of changed contacts as server-sent events. An empty list means that everything may have
 * changed.
 */
function stream(core: SimulatorCore, reply: FastifyReply): void {
  reply.hijack();
  const { raw } = reply;
  raw.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
  raw.write('retry: 1000\n\n');
  let changed: Set<string> | 'all' = new Set();
  let gathering: NodeJS.Timeout | null = null;
  const emit = (): void => {
    gathering = null;
    const ids = changed === 'all' ? [] : [...changed];
    changed = new Set();
    if (raw.writableLength > MAX_UNSENT_BYTES) raw.destroy();
    else raw.write(`data: ${JSON.stringify({ contactIds: ids })}\n\n`);
  };
  const stop = core.onChange((change) => {
    if (change.of !== 'world') return;
    if (change.contactId === null) changed = 'all';
    else if (changed !== 'all') changed.add(change.contactId);
    gathering ??= setTimeout(emit, GATHER_MS);
  });
  const heartbeat = setInterval(() => raw.write(': still here\n\n'), HEARTBEAT_MS);
  raw.once('close', () => {
    stop();
    clearInterval(heartbeat);
    if (gathering !== null) clearTimeout(gathering);
  });
}
