import { type UpstreamError, UpstreamStatusError } from '#upstream';

/** Returns true if upstream answered that a contact does not exist. */
export function isUpstreamNotFoundError(error: UpstreamError): boolean {
  return error instanceof UpstreamStatusError && (error.status === 404 || error.status === 410);
}
