import type { FastifyInstance, FastifyReply } from 'fastify';
import { Input } from './input.js';
import { answerControlError } from './control-api.js';
import { ID, contactNamed } from './control/verb.js';
import type { SimulatorCore } from './simulator-core.js';
import type { Contact, Message } from './world/things.js';

/** The page shows the end of a conversation, however long it is. */
const MOST_MESSAGES = 200;
/** Changes that come together are told together. */
const GATHER_MS = 40;
const HEARTBEAT_MS = 15_000;
/** A page that reads so much too slowly is cut off; it connects again. */
const MOST_UNSENT_BYTES = 1_048_576;

/** What the phone page reads, under `/_simulator/phone`; what it does goes through the control verbs. */
export function phoneApi(server: FastifyInstance, { core }: { core: SimulatorCore }, done: () => void): void {
  server.setErrorHandler(answerControlError);

  server.get('/contacts', (_request, reply) => {
    const contacts = core.act((world) => world.contacts.listed().map(listedContact));
    contacts.sort((a, b) => b.lastAt - a.lastAt);
    return reply.send({ accountNumber: core.world.accountNumber, contacts });
  });

  server.get('/messages', (request, reply) => {
    const input = new Input(request.query);
    const contact = contactNamed(core, input.required('contactId', ID, ''));
    const messages = core.act(() => contact.messages.slice(-MOST_MESSAGES).map(shownMessage));
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

/** Server-sent events: which contacts have changed (`[]`: look at everything anew). */
function stream(core: SimulatorCore, reply: FastifyReply): void {
  reply.hijack();
  const { raw } = reply;
  raw.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
  raw.write('retry: 1000\n\n');
  let changed: Set<string> | 'all' = new Set();
  let gathering: NodeJS.Timeout | null = null;
  const tell = (): void => {
    gathering = null;
    const ids = changed === 'all' ? [] : [...changed];
    changed = new Set();
    if (raw.writableLength > MOST_UNSENT_BYTES) raw.destroy();
    else raw.write(`data: ${JSON.stringify({ contactIds: ids })}\n\n`);
  };
  const stop = core.onChange((change) => {
    if (change.of !== 'world') return;
    if (change.contactId === null) changed = 'all';
    else if (changed !== 'all') changed.add(change.contactId);
    gathering ??= setTimeout(tell, GATHER_MS);
  });
  const heartbeat = setInterval(() => raw.write(': still here\n\n'), HEARTBEAT_MS);
  raw.once('close', () => {
    stop();
    clearInterval(heartbeat);
    if (gathering !== null) clearTimeout(gathering);
  });
}
