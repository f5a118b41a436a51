import { confirm } from '@clack/prompts';
import type { Command } from 'commander';
import { action, type CommandContext, type Terminal } from '../command-context.js';
import { ExitCode } from '../exit-code.js';
import { CommandFault } from '../failure.js';

/**
 * Adds the command `show <id>`, which prints all fields of one object.
 * @param path path of the list of these objects
 */
export function addShow(group: Command, terminal: Terminal, path: string, description: string): void {
  group
    .command('show')
    .argument('<id>')
    .description(description)
    .action(
      action(terminal, async (context, id: string) => {
        context.output.fields((await context.call('GET', `${path}/${encodeURIComponent(id)}`)) as object);
        return undefined;
      }),
    );
}

/** Name and texts of a command that deletes one object. */
interface Deletion {
  /** Name of the command. */
  name: string;
  description: string;
  /** Returns the question that asks for a confirmation. */
  question: (id: string) => string;
  /** What happened to the object, for example `deleted`. */
  done: string;
}

/**
 * Adds a command that deletes one object. If a person is at the terminal, the command first asks for a confirmation.
 * @param path path of the list of these objects
 */
export function addDelete(
  group: Command,
  terminal: Terminal,
  path: string,
  { name, description, question, done }: Deletion,
): void {
  group
    .command(name)
    .argument('<id>')
    .description(description)
    .option('-y, --yes', 'do not ask for a confirmation')
    .action(
      action(terminal, async (context, id: string, { yes }: { yes?: boolean }) => {
        if (yes !== true && !(await isConfirmed(context, question(id))))
          throw new CommandFault(`${id} is not ${done}`, ExitCode.failure);
        await context.call('DELETE', `${path}/${encodeURIComponent(id)}`);
        context.output.result({ [done]: id }, `${id} is ${done}.`);
        return undefined;
      }),
    );
}

/**
 * Asks the user to confirm. Returns true without a question if standard input is not a terminal or the output is
 * JSON, as in scripts.
 */
async function isConfirmed({ terminal, output }: CommandContext, message: string): Promise<boolean> {
  const { stdin, questions, signal } = terminal;
  if (!stdin.isTTY || output.isJson) return true;
  return (await confirm({ message, initialValue: false, input: stdin, output: questions, signal })) === true;
}
