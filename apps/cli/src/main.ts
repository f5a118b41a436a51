import { writeSync } from 'node:fs';
import { CommanderError } from 'commander';
import { createProgram } from './program.js';
import { ExitCode } from './exit-code.js';
import { failureOf, StoredSendFault, UnconfirmedSendFault } from './failure.js';
import type { Terminal } from './command-context.js';
import { productVersion } from './product-version.js';

const interrupt = new AbortController();
process.on('SIGINT', () => {
  // A second Ctrl-C ends a command that does not stop.
  if (interrupt.signal.aborted) process.exit(ExitCode.interrupted);
  interrupt.abort(new Error('interrupted'));
});
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    // `tidings events --follow | head` closes the pipe; there is nobody left to tell.
    if (error.code === 'EPIPE') process.exit(ExitCode.success);
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
  environment: process.env,
  signal: interrupt.signal,
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
if (interrupt.signal.aborted) process.exitCode = ExitCode.interrupted;

/** Tells the user about an error, and returns the exit code. */
function report(error: unknown): ExitCode {
  // Help and usage errors are printed already.
  if (error instanceof CommanderError) return error.exitCode === 0 ? ExitCode.success : ExitCode.usage;
  // Without what these errors say, a script could only send again.
  const isAboutSend = error instanceof StoredSendFault || error instanceof UnconfirmedSendFault;
  if (interrupt.signal.aborted && !isAboutSend) return ExitCode.interrupted;
  const { exitCode, lines, details } = failureOf(error);
  process.stderr.write(
    program.opts()['json'] === true ? `${JSON.stringify(details)}\n` : `tidings: ${lines.join('\n')}\n`,
  );
  return exitCode;
}
