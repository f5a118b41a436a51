import tab from '@bomb.sh/tab/commander';
import { Command } from 'commander';
import { addAdmin } from './commands/admin.js';
import { addContacts } from './commands/contacts.js';
import { addDeliveries } from './commands/deliveries.js';
import { addDoctor } from './commands/doctor.js';
import { addEvents } from './commands/events.js';
import { addListen } from './commands/listen.js';
import { addSend } from './commands/send.js';
import { addSends } from './commands/sends.js';
import { addSignIn } from './commands/sign-in.js';
import { addStatus } from './commands/status.js';
import { addTrigger } from './commands/trigger.js';
import { addWebhooks } from './commands/webhooks.js';
import type { Terminal } from './command-context.js';

/**
 * Creates the command line with all its commands. It never ends the process: it throws a `CommanderError` instead.
 * @param version version of the product
 */
export function createProgram(terminal: Terminal, version: string): Command {
  const program = new Command('tidings')
    .description('The command line of the Tidings gateway.')
    .version(version)
    .option('--url <url>', 'address of the gateway (TIDINGS_URL)')
    .option('--profile <name>', 'profile that `tidings login` stored (TIDINGS_PROFILE)')
    .option('--json', 'print JSON, one value per line')
    .option('--no-color', 'print without colors (NO_COLOR)')
    .addHelpText(
      'after',
      `
The API key comes from TIDINGS_API_KEY or from a profile, never from the command line.
Exit codes: 0 success, 1 request rejected, problem found or unexpected error, 2 wrong usage,
3 API key missing or not accepted, 4 gateway not reachable, 129 SIGHUP, 130 Ctrl-C, 143 SIGTERM.`,
    )
    .showHelpAfterError('(see: tidings --help)')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => terminal.stdout.write(text),
      writeErr: (text) => terminal.stderr.write(text),
    });
  const parts = [
    addSignIn,
    addSend,
    addSends,
    addContacts,
    addEvents,
    addWebhooks,
    addDeliveries,
    addStatus,
    addListen,
    addTrigger,
    addDoctor,
    addAdmin,
  ];
  for (const add of parts) add(program, terminal);
  for (const command of allOf(program)) {
    // With this, usage errors of subcommands are thrown, too.
    command.exitOverride().configureOutput(program.configureOutput());
  }
  addCompletion(program);
  return program;
}

/** Adds `completion`, which prints a script for a shell, and `complete`, which the script calls. */
function addCompletion(program: Command): void {
  const globalOptions = program.options.filter(({ long }) => long !== '--version');
  const { commands } = tab(program, { completionCommandName: 'completion' });
  // Global options may also follow a command.
  for (const command of commands.values())
    for (const { long = '', description, required } of globalOptions) {
      const name = long.replace(/^--/, '');
      if (required) command.option(name, description, () => undefined);
      else command.option(name, description);
    }
}

function allOf(command: Command): Command[] {
  return command.commands.flatMap((each) => [each, ...allOf(each)]);
}
