import {
  UpstreamError,
  UpstreamIsTidingsError,
  UpstreamReplyUnreadableError,
  UpstreamRequestNotSentError,
  UpstreamStatusError,
  UpstreamUnavailableError,
  UpstreamUnreachableError,
} from '#upstream';

/**
 * Errors that say nothing about the requested page: upstream did not receive the request, or the server at the
 * upstream address is not a messaging service.
 */
const ERRORS_OF_NO_PAGE = [
  UpstreamUnreachableError,
  UpstreamUnavailableError,
  UpstreamRequestNotSentError,
  UpstreamIsTidingsError,
];

/** Returns true if the error may have occurred because the requested page was too large. */
export function mayBeCausedByPageSize(error: unknown): boolean {
  if (error instanceof UpstreamStatusError) return ![401, 403, 404, 429].includes(error.status);
  return error instanceof UpstreamError && !ERRORS_OF_NO_PAGE.some((type) => error instanceof type);
}

/**
 * Returns true if a single message on the page may have caused the error: upstream answered with an error status
 * other than 401, 403, 404 and 429, or with a body that cannot be read.
 */
export function mayBeCausedBySingleMessage(error: unknown): boolean {
  return (
    (error instanceof UpstreamStatusError || error instanceof UpstreamReplyUnreadableError) &&
    mayBeCausedByPageSize(error)
  );
}
