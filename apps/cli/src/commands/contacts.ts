import type { Command } from 'commander';
import { action, type CommandContext, type Terminal } from '../command-context.js';
import { excerpt } from '../output/printable.js';
import { DEFAULT_LIMIT, MAX_LIMIT, wholeNumber } from '../settings/option-values.js';
import { addDefaultList } from './default-list.js';
import { addShow } from './show-and-delete.js';

/** Adds `contacts` and `messages`, which show data of the messaging service, read through the gateway. */
export function addContacts(program: Command, terminal: Terminal): void {
  const contacts = program
    .command('contacts')
    .description('list the contacts of the messaging service, or show one');
  addDefaultList(contacts, 'list the contacts')
    .option('--limit <count>', 'maximum number of contacts', wholeNumber(1, MAX_LIMIT), DEFAULT_LIMIT)
    .action(action(terminal, listContacts));
  addShow(contacts, terminal, '/v1/contacts', 'show all fields of a contact');

  program
    .command('messages')
    .argument('<contactId>')
    .description('list the messages of a contact, in the order of the messaging service')
    .option('--limit <count>', 'maximum number of messages', wholeNumber(1, MAX_LIMIT), DEFAULT_LIMIT)
    .action(action(terminal, listMessages));
}

async function listContacts(context: CommandContext, { limit }: { limit: number }): Promise<undefined> {
  const tidings = await context.client();
  await context.output.list(
    tidings.contacts({ signal: context.readingSignal }),
    [
      { title: 'ID', value: ({ id }) => id },
      { title: 'NAME', value: (contact) => textOf(contact, 'name') },
      { title: 'PHONE NUMBER', value: (contact) => textOf(contact, 'phoneNumber') },
    ],
    limit,
  );
}

async function listMessages(
  context: CommandContext,
  contactId: string,
  { limit }: { limit: number },
): Promise<undefined> {
  const tidings = await context.client();
  await context.output.list(
    tidings.messages(contactId, { signal: context.readingSignal }),
    [
      { title: 'ID', value: ({ id }) => id },
      { title: 'AT', value: (message) => textOf(message, 'timestamp') },
      { title: 'DIRECTION', value: (message) => textOf(message, 'direction') },
      {
        title: 'TEXT',
        value: (message) => excerpt(textOf(message, 'message') || textOf(message, 'text'), 80),
      },
    ],
    limit,
  );
}

/** Returns a field that the messaging service may leave out. */
function textOf(object: object, field: string): string {
  const value: unknown = Reflect.get(object, field);
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}
