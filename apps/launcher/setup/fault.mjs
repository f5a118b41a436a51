/**
 * A set-up problem that the user has to solve. The message is printed without a stack, and the process exits
 * with this status.
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
