import { describe, expect, it } from '@jest/globals';
import type { Command } from 'commander';
import { createProgram } from '../../apps/cli/src/program.js';
import { read } from './pages.js';

const silent = { write: () => true };

function commandRows(command: Command, path = ''): string[] {
  return command.commands.flatMap((each) => {
    const name = `${path}${each.name()}`;
    const rows = commandRows(each, `${name} `);
    if (rows.length > 0) return rows;
    const parameters = each.registeredArguments.map((argument) => {
      const dots = argument.variadic ? '...' : '';
      return argument.required ? ` <${argument.name()}${dots}>` : ` [${argument.name()}${dots}]`;
    });
    return [`| \`${name}${parameters.join('')}\` | ${each.description()} |`];
  });
}

describe('docs/command-line.md', () => {
  it('has a row for each command, with its description', () => {
    const program = createProgram(
      {
        stdin: process.stdin,
        stdout: silent,
        stderr: silent,
        questions: process.stderr,
        environment: {},
        signal: new AbortController().signal,
        outputEnd: new AbortController().signal,
        setExitCode: () => undefined,
      },
      '0.0.0',
    );
    const documented = read('docs/command-line.md')
      .split('\n')
      .filter((line) => line.startsWith('| `'));
    const rows = commandRows(program).filter((row) => !/^\| `(help|complete|completion)\b/.test(row));
    expect(rows.length).toBeGreaterThan(30);
    expect(rows.filter((row) => !documented.includes(row))).toEqual([]);
  });
});
