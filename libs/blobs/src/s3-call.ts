import { BlobMissingError, BlobStoreUnavailableError } from './blob-store.js';

/**
 * One call to an S3 server, which is told to end when its time is over, the SDK's repetitions included.
 * @throws {BlobStoreUnavailableError} whatever went wrong but a blob that is missing
 */
export async function withinDeadline<T>(ms: number, call: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const deadline = new AbortController();
  // Not AbortSignal.timeout: it would also end the content that the answer goes on with.
  const timer = setTimeout(() => {
    deadline.abort();
  }, ms);
  try {
    return await call(deadline.signal);
  } catch (error) {
    if (error instanceof BlobMissingError) throw error;
    const words = deadline.signal.aborted ? `no answer within ${ms} ms` : describeError(error);
    throw new BlobStoreUnavailableError(words, { cause: error });
  } finally {
    clearTimeout(timer);
  }
}

/** The SDK's errors often have a name that says more than their message, such as NoSuchBucket. */
function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const words = error.message === '' ? 'no reason given' : error.message;
  return error.name === 'Error' ? words : `${error.name}: ${words}`;
}
