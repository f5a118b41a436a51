/**
 * Thrown when an account's base URL would change to another origin without a new upstream API key. The stored
 * API key must not be sent to another server.
 */
export class UpstreamApiKeyRequiredError extends Error {
  constructor() {
    super(
      'is required with a baseUrl of another origin, because the stored key is only for the previous server',
    );
    this.name = 'UpstreamApiKeyRequiredError';
  }
}
