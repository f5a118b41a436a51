/** A change of an account's address to another server lacks an API key. That server would receive the stored key. */
export class KeyNeededError extends Error {
  constructor() {
    super(
      'is needed with a baseUrl of another origin: the stored key belongs to the server that it was given for',
    );
    this.name = 'KeyNeededError';
  }
}
