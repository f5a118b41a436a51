/** An account's address was to be changed to another server's without its key: that server would be sent the stored one. */
export class KeyNeededError extends Error {
  constructor() {
    super(
      'is needed with a baseUrl of another origin: the stored key belongs to the server that it was given for',
    );
    this.name = 'KeyNeededError';
  }
}
