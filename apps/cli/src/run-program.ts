import { CommanderError } from 'commander';
import type { Terminal } from './command-context.js';
import { ExitCode } from './exit-code.js';
import { failureOf, StoredSendFault, UnconfirmedSendFault } from './failure.js';
import { productVersion } from './product-version.js';
import { createProgram } from './program.js';

/**
 * Runs one command, and prints its error for the user if it fails.
 * @param argv as in `process.argv`
 * @param codeOfSignal returns the exit code for the signal that has ended the command, or undefined
 */
export async function runProgram(
  terminal: Terminal,
  argv: readonly string[],
  codeOfSignal: () => ExitCode | undefined,
): Promise<void> {
  const program = createProgram(terminal, productVersion());
  try {
    await program.parseAsync(argv);
  } catch (error) {
    terminal.setExitCode(report(error, terminal, program.opts()['json'] === true, codeOfSignal()));
  }
  const code = codeOfSignal();
  if (code !== undefined) terminal.setExitCode(code);
}

/** Prints an error for the user, and returns the exit code. */
function report(
  error: unknown,
  { stderr, outputEnd }: Terminal,
  asJson: boolean,
  byUser: ExitCode | undefined,
): ExitCode {
  // Help and usage errors are printed already.
  if (error instanceof CommanderError) return error.exitCode === 0 ? ExitCode.success : ExitCode.usage;
  // A command that only reads was ended because nobody reads its output any more. That is no failure.
  if (outputEnd.aborted && error === outputEnd.reason) return ExitCode.success;
  // These errors contain the id or the idempotency key of a send. Without these, a script could only send again.
  const isAboutSend = error instanceof StoredSendFault || error instanceof UnconfirmedSendFault;
  if (byUser !== undefined && !isAboutSend) return byUser;
  const { exitCode, lines, details } = failureOf(error);
  stderr.write(asJson ? `${JSON.stringify(details)}\n` : `tidings: ${lines.join('\n')}\n`);
  return exitCode;
}
