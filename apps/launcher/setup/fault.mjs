/**
 * A set-up problem that the user has to solve. The message is printed without a stack, and the process exits with
 * `exitCode`.
 */
export class SetupFault extends Error {
  /**
   * @param {string} message
   * @param {number} [exitCode] default: EX_CONFIG of sysexits.h
   */
  constructor(message, exitCode = 78) {
    super(message);
    this.exitCode = exitCode;
  }
}

/**
 * Returns the fault of a file that this user may not write, for example after an earlier start as root. Returns
 * undefined for any other error.
 * @param {unknown} error
 */
export function permissionFaultOf(error) {
  if (!(error instanceof Error) || !('code' in error) || !('path' in error)) return undefined;
  if (error.code !== 'EACCES' && error.code !== 'EPERM' && error.code !== 'EROFS') return undefined;
  return new SetupFault(
    `Cannot write ${String(error.path)} (${error.code}); make this checkout writable for the current user`,
    1,
  );
}
