/**
 * The configuration of a process is invalid. The process prints each fault on its own line and exits with
 * code 78.
 */
export class ConfigurationError extends Error {
  /** Exit status of a process whose configuration is invalid: `EX_CONFIG` of sysexits.h. */
  static readonly exitCode = 78;

  constructor(readonly faults: readonly string[]) {
    super(faults.join('\n'));
    this.name = 'ConfigurationError';
  }
}
