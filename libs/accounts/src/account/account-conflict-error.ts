/**
 * Thrown when the current state of an account or API key does not allow a requested change. The API returns
 * the error's message to the caller.
 */
export class AccountConflictError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'AccountConflictError';
  }
}
