import { BlobMissingError, BlobStoreUnavailableError } from './blob-store.js';

/**
 * Makes one call to an S3 server, and aborts the call, including the SDK's retries, after `ms` milliseconds.
 * @throws {BlobStoreUnavailableError} for every error except a missing blob
 */
export async function withTimeout<T>(ms: number, call: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const deadline = new AbortController();
  // AbortSignal.timeout would also interrupt the content that follows the answer.
  const timer = setTimeout(() => {
    deadline.abort();
  }, ms);
  try {
    return await call(deadline.signal);
  } catch (error) {
    if (error instanceof BlobMissingError) throw error;
    const reason = deadline.signal.aborted ? `no answer within ${ms} ms` : describeError(error);
    throw new BlobStoreUnavailableError(reason, { cause: error });
  } finally {
    clearTimeout(timer);
  }
}

/** Returns the error's name and message. The name often says more than the message, for example NoSuchBucket. */
function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const message = error.message === '' ? 'no reason given' : error.message;
  return error.name === 'Error' ? message : `${error.name}: ${message}`;
}
