/** The present state of an endpoint or a delivery does not allow what was asked; the message says why and what to do. */
export class WebhookConflictError extends Error {
  constructor(reason: string) {
    super(reason);
    this.name = 'WebhookConflictError';
  }
}

/** @param consequence what does not happen therefore, as a clause */
export function disabledConflict(consequence: string): WebhookConflictError {
  return new WebhookConflictError(
    `The webhook is disabled. ${consequence}; enable it first: PATCH it with {"enabled": true}.`,
  );
}
