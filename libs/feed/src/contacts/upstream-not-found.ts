import { type UpstreamError, UpstreamStatusError } from '#upstream';

/** Returns true if upstream answered that a contact does not exist. */
export function isNotFound(error: UpstreamError): boolean {
  return error instanceof UpstreamStatusError && (error.status === 404 || error.status === 410);
}
