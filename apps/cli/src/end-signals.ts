import { ExitCode } from './exit-code.js';

/**
 * The signals that end a command, each with the exit code of the process. It is the code that a shell reports for a
 * process that the signal killed.
 */
const EXIT_CODES = {
  SIGINT: ExitCode.interrupted,
  SIGTERM: ExitCode.terminated,
  SIGHUP: ExitCode.hungUp,
} as const;

/**
 * Time within which a second signal counts as the first one, in milliseconds. npm passes on a Ctrl-C that the terminal
 * sends as well, and `timeout` sends its signal to the process and to its group.
 */
const SAME_SIGNAL_MS = 500;

/** Whether a signal has requested the end of the command, and which one was the first. */
export interface EndSignals {
  /** Aborts at the first signal. */
  readonly signal: AbortSignal;
  /** Returns the exit code for the first received signal, or undefined if none was received. */
  readonly exitCode: () => ExitCode | undefined;
}

/** Handles the signals: the first one lets the command end in order, a later one ends the process at once. */
export function listenForEnd(): EndSignals {
  const end = new AbortController();
  let exitCode: ExitCode | undefined;
  let first = 0;
  for (const [name, code] of Object.entries(EXIT_CODES)) {
    process.on(name, () => {
      if (!end.signal.aborted) {
        first = performance.now();
        exitCode = code;
        end.abort(new Error('interrupted'));
      } else if (performance.now() - first > SAME_SIGNAL_MS) {
        process.exit(code);
      }
    });
  }
  return { signal: end.signal, exitCode: () => exitCode };
}
