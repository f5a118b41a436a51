import {
  UpstreamError,
  UpstreamReplyUnreadableError,
  UpstreamStatusError,
  UpstreamUnavailableError,
  UpstreamUnreachableError,
} from '#upstream';

/** Returns true if the error may have occurred because the requested page was too large. */
export function mayBeCausedByPageSize(error: unknown): boolean {
  if (error instanceof UpstreamStatusError) return ![401, 403, 404, 429].includes(error.status);
  if (error instanceof UpstreamUnreachableError || error instanceof UpstreamUnavailableError) return false;
  return error instanceof UpstreamError;
}

/**
 * Returns true if a single message on the page may have caused the error: upstream answered with an error
 * status or an invalid body.
 */
export function mayBeCausedBySingleMessage(error: unknown): boolean {
  return (
    (error instanceof UpstreamStatusError || error instanceof UpstreamReplyUnreadableError) &&
    mayBeCausedByPageSize(error)
  );
}
