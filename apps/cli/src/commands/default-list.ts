import { type Command, Help } from 'commander';

/**
 * Adds the command `list` to a group of commands. The group runs `list` if the user names none of its commands. The
 * options of `list` are therefore also options of the group, and the help and the shell completion of the group show
 * them.
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
    // Without this check, an unknown command would be reported as an argument of `list`.
    if (/^[^-]/.test(name) && !names.includes(name))
      group.error(`error: unknown command '${name}'; ${group.name()} has ${names.join(', ')}`);
  });
  return list;
}
