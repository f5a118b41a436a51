import { addAbortSignal } from 'node:stream';
import { text } from 'node:stream/consumers';
import { type Command, InvalidArgumentError, Option } from 'commander';
import type {
  Account,
  AccountChanges,
  AccountList,
  ApiKeyList,
  CreatedApiKey,
  NewAccount,
  NewApiKey,
} from '#client';
import { action, type CommandContext, type Terminal } from '../command-context.js';
import { CommandFault } from '../failure.js';
import { futureTimeOf } from '../output/duration.js';
import { collect, onOrOff, positiveNumber } from '../settings/option-values.js';
import { addDefaultList } from './default-list.js';
import { addDelete, addShow } from './show-and-delete.js';

const SCOPES = [
  'messages:send',
  'messages:read',
  'webhooks:manage',
  'events:read',
  'admin',
] as const satisfies NewApiKey['scopes'];

interface KeyOptions {
  account: string;
  scopes: NewApiKey['scopes'];
  expiresAt?: string;
}

interface AccountOptions {
  baseUrl?: string;
  requestsPerSecond?: number;
  polling?: boolean;
}

/** Adds `keys` and `accounts`, which need a key with the scope `admin`. */
export function addAdmin(program: Command, terminal: Terminal): void {
  const keys = program.command('keys').description('create, list and revoke API keys (scope admin)');
  addDefaultList(keys, 'list the API keys').action(action(terminal, listKeys));
  keys
    .command('create')
    .argument('<name>', 'what the key is for')
    .option('--account <id>', 'account of the key', 'default')
    .addOption(
      new Option('--scopes <scopes...>', 'what the key may do')
        .choices(SCOPES)
        .argParser(collectScopes)
        .makeOptionMandatory(),
    )
    .option('--expires-at <time>', 'when the key expires, for example 2030-01-31T09:00:00Z')
    .description('create an API key; it is shown only once')
    .action(action(terminal, createKey));
  addDelete(keys, terminal, '/v1/api-keys', {
    name: 'revoke',
    description: 'revoke an API key, at once',
    question: (id) => `Revoke the API key ${id} now?`,
    done: 'revoked',
  });

  const accounts = program.command('accounts').description('create, list and change accounts (scope admin)');
  addDefaultList(accounts, 'list the accounts').action(action(terminal, listAccounts));
  addShow(accounts, terminal, '/v1/accounts', 'show an account');
  withSettings(
    accounts
      .command('create')
      .argument('<id>')
      .description('create an account; its upstream API key is read from standard input')
      .requiredOption('--base-url <url>', 'base address of the messaging service, including /v1'),
  ).action(
    action(terminal, async (context, id: string, options: AccountOptions & { baseUrl: string }) => {
      const { baseUrl, ...settings } = options;
      const account: NewAccount = { id, baseUrl, apiKey: await readKey(context), ...settings };
      context.output.fields((await context.call('POST', '/v1/accounts', account)) as Account);
      return undefined;
    }),
  );
  withSettings(
    accounts
      .command('update')
      .argument('<id>')
      .description('change an account')
      .option('--base-url <url>', 'base address of the messaging service, including /v1')
      .option('--new-key', 'read a new upstream API key from standard input'),
  ).action(action(terminal, updateAccount));
  accounts
    .command('confirm-deletions')
    .argument('<id>')
    .description('confirm that vanished contacts and messages were deleted on purpose')
    .action(
      action(terminal, async (context, id: string) => {
        await context.call('POST', `${pathOf(id)}/confirm-deletions`);
        context.output.result({ confirmed: id }, `Confirmed the deletions of ${id}.`);
        return undefined;
      }),
    );
  addDelete(accounts, terminal, '/v1/accounts', {
    name: 'delete',
    description: 'delete an account with all its data',
    question: (id) => `Delete the account ${id} with all its data?`,
    done: 'deleted',
  });
}

/** Adds scopes to those of a repeatable option; a value may be a list with commas. */
function collectScopes(text: string, before: readonly string[] | undefined): string[] {
  const scopes = collect(text, before);
  const areScopes = scopes.every((each) => SCOPES.some((scope) => scope === each));
  if (scopes.length > 0 && areScopes) return scopes;
  throw new InvalidArgumentError(`Allowed choices are ${SCOPES.join(', ')}.`);
}

function withSettings(command: Command): Command {
  return command
    .option(
      '--requests-per-second <number>',
      'maximum number of requests per second to the messaging service',
      positiveNumber,
    )
    .option('--polling <on|off>', 'whether contacts are polled and events are emitted', onOrOff);
}

async function listKeys(context: CommandContext): Promise<undefined> {
  const { apiKeys } = await context.read<ApiKeyList>('/v1/api-keys', 'apiKeys');
  await context.output.list(
    apiKeys,
    [
      { title: 'ID', value: ({ id }) => id },
      { title: 'ACCOUNT', value: ({ account }) => account },
      { title: 'NAME', value: ({ name }) => name },
      { title: 'SCOPES', value: ({ scopes }) => scopes.join(', ') },
      { title: 'EXPIRES', value: ({ expiresAt }) => expiresAt ?? 'never' },
    ],
    Number.POSITIVE_INFINITY,
  );
}

async function createKey(
  context: CommandContext,
  name: string,
  { account, scopes, expiresAt }: KeyOptions,
): Promise<undefined> {
  const key: NewApiKey = {
    account,
    name,
    scopes,
    ...(expiresAt === undefined ? {} : { expiresAt: futureTimeOf(expiresAt, '--expires-at').toISOString() }),
  };
  const created = (await context.call('POST', '/v1/api-keys', key)) as CreatedApiKey;
  context.output.result(
    created,
    `Created ${created.id}. This is the only time that the key is shown:\n${created.key}`,
  );
}

async function listAccounts(context: CommandContext): Promise<undefined> {
  const { accounts } = await context.read<AccountList>('/v1/accounts', 'accounts');
  await context.output.list(
    accounts,
    [
      { title: 'ID', value: ({ id }) => id },
      { title: 'BASE URL', value: ({ baseUrl }) => baseUrl },
      { title: 'REQUESTS/S', value: ({ requestsPerSecond }) => requestsPerSecond },
      { title: 'POLLING', value: ({ polling }) => (polling ? 'on' : 'off') },
      { title: 'SOURCE', value: ({ source }) => source },
    ],
    Number.POSITIVE_INFINITY,
  );
}

async function updateAccount(
  context: CommandContext,
  id: string,
  { newKey, ...settings }: AccountOptions & { newKey?: boolean },
): Promise<undefined> {
  const changes: AccountChanges = {
    ...settings,
    ...(newKey === true ? { apiKey: await readKey(context) } : {}),
  };
  if (Object.keys(changes).length === 0)
    throw new CommandFault('name at least one change, for example --polling off');
  context.output.fields((await context.call('PATCH', pathOf(id), changes)) as Account);
}

/** Reads the API key of the messaging service from standard input, because it must not be on the command line. */
async function readKey({ terminal, output }: CommandContext): Promise<string> {
  if (terminal.stdin.isTTY) output.note('Type the upstream API key, then press Enter and Ctrl-D.');
  const key = (await text(addAbortSignal(terminal.signal, terminal.stdin))).trim();
  if (key === '') throw new CommandFault('there is no upstream API key on standard input');
  return key;
}

function pathOf(id: string): string {
  return `/v1/accounts/${encodeURIComponent(id)}`;
}
