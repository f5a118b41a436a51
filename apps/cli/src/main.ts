import { writeSync } from 'node:fs';
import { CommanderError } from 'commander';
import { createProgram } from './program.js';
import { listenForEnd } from './end-signals.js';
import { ExitCode } from './exit-code.js';
import { failureOf, StoredSendFault, UnconfirmedSendFault } from './failure.js';
import type { Terminal } from './command-context.js';
import { productVersion } from './product-version.js';

const end = listenForEnd();
const outputEnd = new AbortController();
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    // Nobody reads the output any more: `head` in `tidings events --follow | head` has closed the pipe, or a closed
    // window has closed the terminal.
    if (error.code === 'EPIPE' || (error.code === 'EIO' && stream.isTTY)) {
      if (stream === process.stdout) outputEnd.abort(new Error('nobody reads the output'));
      return;
    }
    // What could not be printed may be a new API key, which is not shown again.
    if (stream === process.stdout)
      writeSync(process.stderr.fd, `tidings: the output cannot be written: ${error.message}\n`);
    process.exit(ExitCode.failure);
  });
}

const terminal: Terminal = {
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  questions: process.stderr,
  environment: process.env,
  signal: end.signal,
  outputEnd: outputEnd.signal,
  setExitCode: (code) => {
    process.exitCode = code;
  },
};

const program = createProgram(terminal, productVersion());
try {
  await program.parseAsync(process.argv);
} catch (error) {
  process.exitCode = report(error);
}
process.exitCode = end.exitCode() ?? process.exitCode;

/** Prints an error for the user, and returns the exit code. */
function report(error: unknown): ExitCode {
  // Help and usage errors are printed already.
  if (error instanceof CommanderError) return error.exitCode === 0 ? ExitCode.success : ExitCode.usage;
  // A command that only reads ends when nobody reads its output.
  if (outputEnd.signal.aborted && error === outputEnd.signal.reason) return ExitCode.success;
  // These errors contain the id or the idempotency key of a send. Without these, a script could only send again.
  const isAboutSend = error instanceof StoredSendFault || error instanceof UnconfirmedSendFault;
  const byUser = end.exitCode();
  if (byUser !== undefined && !isAboutSend) return byUser;
  const { exitCode, lines, details } = failureOf(error);
  process.stderr.write(
    program.opts()['json'] === true ? `${JSON.stringify(details)}\n` : `tidings: ${lines.join('\n')}\n`,
  );
  return exitCode;
}
