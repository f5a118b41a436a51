import type { CommonEnvironment } from '#platform';
import type { BlobStore } from './blob-store.js';
import { FileBlobStore } from './file-blob-store.js';

/** The environment variables that determine where the blob store is. */
type BlobStoreSettings = Pick<CommonEnvironment, 'BLOB_STORE' | 'AWS_ENDPOINT_URL_S3' | 'AWS_ENDPOINT_URL'>;

/**
 * Opens the blob store that the environment variable `BLOB_STORE` names. The S3 client is loaded only for a
 * store in S3.
 */
export async function openBlobStore(environment: BlobStoreSettings): Promise<BlobStore> {
  const { BLOB_STORE, AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL } = environment;
  if (BLOB_STORE.kind === 'file') return new FileBlobStore(BLOB_STORE.directory);
  const { S3BlobStore } = await import('./s3-blob-store.js');
  const { bucket, prefix } = BLOB_STORE;
  const pathStyle = AWS_ENDPOINT_URL_S3 !== '' || AWS_ENDPOINT_URL !== '';
  return new S3BlobStore({ bucket, prefix, pathStyle });
}
