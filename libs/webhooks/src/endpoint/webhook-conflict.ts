/** Thrown if the state of an endpoint or delivery forbids a request. The message names the reason and the remedy. */
export class WebhookConflictError extends Error {
  constructor(reason: string) {
    super(reason);
    this.name = 'WebhookConflictError';
  }
}

/**
 * Returns the error for a request that needs an enabled webhook.
 * @param consequence what the request would not achieve, as a clause
 */
export function disabledConflict(consequence: string): WebhookConflictError {
  return new WebhookConflictError(
    `The webhook is disabled. ${consequence}; enable the webhook first: PATCH it with {"enabled": true}.`,
  );
}
