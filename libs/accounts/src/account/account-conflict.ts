/** A request about an account or an API key conflicts with the current state. The message is shown to the caller. */
export class AccountConflictError extends Error {
  constructor(words: string) {
    super(words);
    this.name = 'AccountConflictError';
  }
}
