import type { DeliveryAttempt } from '#client';

/** Returns the outcome of an attempt: the status of the reply, or why there was none. */
export function attemptText({ statusCode, error }: DeliveryAttempt): string {
  if (statusCode === null) return error ?? 'no reply';
  return error === null ? `status ${statusCode}` : `status ${statusCode}, ${error}`;
}

/** Returns true if the receiver accepted the event. */
export function isSuccess({ statusCode, error }: DeliveryAttempt): boolean {
  return error === null && statusCode !== null && statusCode >= 200 && statusCode < 300;
}
