import { type Command, Help } from 'commander';

/**
 * Adds the command `list` to a group, which runs it if none of its commands is named. So the options of `list` are
 * options of the group, too: its help and the completion of shells show them.
 */
export function addDefaultList(group: Command, description: string): Command {
  const list = group.command('list', { isDefault: true }).description(description);
  const help = new Help();
  // The commands of the group inherit this setting.
  group.configureHelp({
    visibleOptions: (command) => help.visibleOptions(command === group ? list : command),
  });
  group.hook('preSubcommand', () => {
    const [name = ''] = group.args;
    const names = group.commands.map((each) => each.name());
    // Otherwise it would be reported as an argument of `list`.
    if (/^[^-]/.test(name) && !names.includes(name))
      group.error(`error: unknown command '${name}'; ${group.name()} has ${names.join(', ')}`);
  });
  return list;
}
