import { addAbortSignal } from 'node:stream';
import { text } from 'node:stream/consumers';
import { password, text as ask, isCancel } from '@clack/prompts';
import type { Command } from 'commander';
import { type Caller, Tidings } from '#client';
import { action, type CommandContext, type Terminal } from '../command-context.js';
import { ExitCode } from '../exit-code.js';
import { CommandFault } from '../failure.js';
import { localUrlOf, originOf } from '../settings/connection.js';
import { assertProfileName } from '../settings/profile-store.js';
import { addDefaultList } from './default-list.js';

/** Adds `login`, `logout` and `profiles`, which store API keys, so that no command line contains a key. */
export function addSignIn(program: Command, terminal: Terminal): void {
  program
    .command('login')
    .description('store the address and API key of a gateway in a profile')
    .addHelpText(
      'after',
      '\nAsks for the API key without showing it. Without a terminal, the key is read from standard input:\n  tidings login --url https://tidings.internal < key.txt',
    )
    .action(action(terminal, signIn));

  program
    .command('logout')
    .argument(
      '[profile]',
      'default: the profile of --profile or TIDINGS_PROFILE, otherwise the current profile',
    )
    .description('delete a stored profile and its API key')
    .action(action(terminal, signOut));

  const profiles = program.command('profiles').description('list the stored profiles, or choose one');
  addDefaultList(profiles, 'list the stored profiles, without their keys').action(
    action(terminal, listProfiles),
  );
  profiles
    .command('use')
    .argument('<profile>')
    .description('make a profile the current one')
    .action(
      action(terminal, async ({ output, profiles: store }, name: string) => {
        await store.use(name);
        output.result({ current: name }, `The current profile is ${name}.`);
        return undefined;
      }),
    );
}

async function signIn(context: CommandContext): Promise<undefined> {
  const name = context.selected.profile ?? 'default';
  assertProfileName(name);
  const url = originOf(context.selected.url ?? (await askForUrl(context, name)));
  const apiKey = await askForKey(context);
  const tidings = new Tidings({ baseUrl: url, apiKey });
  // A key that does not work is not stored. A key with any scope may make this request.
  const { account } = (await tidings.call('GET', '/v1/caller', undefined, {
    signal: context.signal,
  })) as Caller;
  await context.profiles.save(name, { url, apiKey });
  context.output.result(
    { profile: name, url, account },
    `Signed in to ${url}, account ${account}. The current profile is ${name}.`,
  );
}

async function signOut(context: CommandContext, profile: string | undefined): Promise<undefined> {
  const name = profile ?? context.selected.profile ?? (await currentProfile(context));
  const { current, profiles } = await context.profiles.remove(name);
  const deleted = `Deleted the profile ${name}. The API key itself stays valid.`;
  const isNoneCurrent = current === '' && Object.keys(profiles).length > 0;
  context.output.result(
    { removed: name },
    isNoneCurrent
      ? `${deleted}\nNo profile is current now. To choose one: tidings profiles use <profile>`
      : deleted,
  );
}

/** Returns the name of the current profile. @throws {CommandFault} if none is current */
async function currentProfile({ profiles: store }: CommandContext): Promise<string> {
  const { current, profiles } = await store.read();
  if (Object.hasOwn(profiles, current)) return current;
  const names = Object.keys(profiles);
  throw new CommandFault(
    names.length === 0 ? 'no profile is stored' : `no profile is current; name one of: ${names.join(', ')}`,
    ExitCode.failure,
  );
}

async function listProfiles({ output, profiles }: CommandContext): Promise<undefined> {
  const stored = await profiles.read();
  await output.list(
    Object.entries(stored.profiles).map(([name, { url }]) => ({
      name,
      url,
      current: name === stored.current,
    })),
    [
      { title: 'PROFILE', value: ({ name }) => name },
      { title: 'ADDRESS', value: ({ url }) => url },
      { title: 'CURRENT', value: ({ current }) => (current ? 'yes' : '') },
    ],
    Number.POSITIVE_INFINITY,
  );
}

/**
 * Asks for the address, and suggests the address of the stored profile with this name, otherwise that of the gateway
 * on this machine. Without a terminal, returns the suggested address.
 */
async function askForUrl({ profiles: store, terminal }: CommandContext, name: string): Promise<string> {
  const { profiles } = await store.read();
  const stored = Object.hasOwn(profiles, name) ? profiles[name] : undefined;
  const suggested = stored?.url ?? localUrlOf(terminal.environment);
  if (!terminal.stdin.isTTY) return suggested;
  const answer = await ask({
    message: 'Address of the gateway',
    initialValue: suggested,
    output: terminal.questions,
    signal: terminal.signal,
  });
  if (isCancel(answer)) throw new CommandFault('cancelled', ExitCode.interrupted);
  return answer;
}

async function askForKey({ terminal }: CommandContext): Promise<string> {
  const { stdin, questions, signal } = terminal;
  if (stdin.isTTY) {
    const answer = await password({ message: 'API key', output: questions, signal });
    if (isCancel(answer)) throw new CommandFault('cancelled', ExitCode.interrupted);
    return nonEmptyKey(answer);
  }
  return nonEmptyKey(await text(addAbortSignal(signal, stdin)));
}

function nonEmptyKey(typed: string): string {
  const key = typed.trim();
  if (key === '') throw new CommandFault('there is no API key on standard input');
  return key;
}
