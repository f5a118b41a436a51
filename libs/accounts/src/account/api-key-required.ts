/** A change of an account's base URL to another origin lacks an API key. The stored key must not be sent to another server. */
export class ApiKeyRequiredError extends Error {
  constructor() {
    super(
      'is required with a baseUrl of another origin, because the stored key is only for the previous server',
    );
    this.name = 'ApiKeyRequiredError';
  }
}
