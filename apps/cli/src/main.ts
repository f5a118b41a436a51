import { writeSync } from 'node:fs';
import { listenForEnd } from './end-signals.js';
import { ExitCode } from './exit-code.js';
import type { Terminal } from './command-context.js';
import { runProgram } from './run-program.js';

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

await runProgram(terminal, process.argv, end.exitCode);
