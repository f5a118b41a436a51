import { BlobMissingError, BlobStoreUnavailableError } from './blob-store.js';

/**
 * Makes one call to an S3 server. After `ms` milliseconds, the call and the SDK's retries of it are aborted.
 * @throws {BlobStoreUnavailableError} for every error except `BlobMissingError`, which is thrown unchanged
 */
export async function callS3WithTimeout<T>(
  ms: number,
  call: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const deadline = new AbortController();
  // `AbortSignal.timeout` is not used, because its timer cannot be stopped when the call returns. The timer would
  // then interrupt the reading of an object's content, which continues after the call.
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

/**
 * Returns the message of an error, after the error's name unless that is just `Error`. The name, for example
 * `NoSuchBucket`, often says more than the message.
 */
function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const message = error.message === '' ? 'no reason given' : error.message;
  return error.name === 'Error' ? message : `${error.name}: ${message}`;
}
