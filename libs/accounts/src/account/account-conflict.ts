/** The current state of an account or API key does not allow the requested change. The message is shown to the caller. */
export class AccountConflictError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'AccountConflictError';
  }
}
