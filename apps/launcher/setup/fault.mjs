/** What the set-up cannot do by itself: shown as it stands, then the process ends with this status. */
export class SetupFault extends Error {
  /**
   * @param {string} message
   * @param {number} [exitCode] EX_CONFIG of sysexits.h unless told
   */
  constructor(message, exitCode = 78) {
    super(message);
    this.exitCode = exitCode;
  }
}
