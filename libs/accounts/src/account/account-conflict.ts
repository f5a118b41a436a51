/** What is asked of an account or an API key does not go with how things stand. The words are for the caller. */
export class AccountConflictError extends Error {
  constructor(words: string) {
    super(words);
    this.name = 'AccountConflictError';
  }
}
