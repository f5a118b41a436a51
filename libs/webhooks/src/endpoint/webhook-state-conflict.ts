/**
 * Thrown if the state of a webhook or delivery does not allow a request. The message says why, and what to do about it.
 */
export class WebhookStateConflictError extends Error {
  constructor(reason: string) {
    super(reason);
    this.name = 'WebhookStateConflictError';
  }
}

/**
 * Returns the error for a request that fails because the webhook is disabled.
 * @param consequence clause that says what the request would not achieve, such as "A test would not be delivered"
 */
export function createWebhookDisabledError(consequence: string): WebhookStateConflictError {
  return new WebhookStateConflictError(
    `The webhook is disabled. ${consequence}; enable the webhook first: PATCH it with {"enabled": true}.`,
  );
}

/** Returns the error for a request that fails because the webhook has the maximum number of pending deliveries. */
export function createBacklogFullError(): WebhookStateConflictError {
  return new WebhookStateConflictError(
    'The webhook has the maximum number of pending deliveries. Request the delivery again when there are fewer.',
  );
}
