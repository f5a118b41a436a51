import type { Command } from 'commander';
import { action, type Terminal } from '../command-context.js';

/** Adds the command `show <id>`, which prints all fields of one object. @param path path of the list of these objects */
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

/** How a command that deletes one object is called, and what it says. */
interface Deletion {
  /** Name of the command. */
  name: string;
  description: string;
  /** What happened to the object, for example `deleted`. */
  done: string;
}

/** Adds a command that deletes one object. @param path path of the list of these objects */
export function addDelete(
  group: Command,
  terminal: Terminal,
  path: string,
  { name, description, done }: Deletion,
): void {
  group
    .command(name)
    .argument('<id>')
    .description(description)
    .action(
      action(terminal, async (context, id: string) => {
        await context.call('DELETE', `${path}/${encodeURIComponent(id)}`);
        context.output.result({ [done]: id }, `${id} is ${done}.`);
        return undefined;
      }),
    );
}
