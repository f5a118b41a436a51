/** The process cannot run as configured. `main` prints each fault on a line of its own and exits with code 78. */
export class ConfigurationError extends Error {
  /** Exit status for a configuration fault, EX_CONFIG of sysexits.h. */
  static readonly exitCode = 78;

  constructor(readonly faults: readonly string[]) {
    super(faults.join('\n'));
    this.name = 'ConfigurationError';
  }
}
