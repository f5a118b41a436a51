/** Exit codes of `tidings`. Documented in docs/command-line.md. */
export const ExitCode = {
  success: 0,
  /** The gateway rejected the request, `doctor` or `status` found a problem, or an unexpected error occurred. */
  failure: 1,
  /** The command line is wrong: an unknown command or option, or an invalid value. */
  usage: 2,
  /** There is no API key, the gateway does not accept the key, or the key lacks a scope. */
  unauthenticated: 3,
  /** The gateway or, for the command `trigger`, the simulator cannot be reached. */
  unreachable: 4,
  /** The terminal was closed (SIGHUP). */
  hungUp: 129,
  /** The user pressed Ctrl-C (SIGINT). */
  interrupted: 130,
  /** The process received SIGTERM. */
  terminated: 143,
} as const;

export type ExitCode = (typeof ExitCode)[keyof typeof ExitCode];
