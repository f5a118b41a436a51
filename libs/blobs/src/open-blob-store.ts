import { type CommonEnvironment, ConfigurationError } from '#platform';
import type { BlobStore } from './blob-store.js';
import { FileBlobStore } from './file-blob-store.js';

/** The environment variables that determine where the blob store is. */
type BlobStoreSettings = Pick<CommonEnvironment, 'BLOB_STORE' | 'AWS_ENDPOINT_URL_S3' | 'AWS_ENDPOINT_URL'>;

/**
 * Opens the blob store that the environment variable `BLOB_STORE` names. The S3 client is loaded only for a
 * store in S3.
 * @throws {ConfigurationError} if the region of a store in S3 is unknown
 */
export async function openBlobStore(environment: BlobStoreSettings): Promise<BlobStore> {
  const { BLOB_STORE, AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL } = environment;
  if (BLOB_STORE.kind === 'file') return new FileBlobStore(BLOB_STORE.directory);
  const { S3BlobStore } = await import('./s3-blob-store.js');
  const { bucket, prefix } = BLOB_STORE;
  const pathStyle = AWS_ENDPOINT_URL_S3 !== '' || AWS_ENDPOINT_URL !== '';
  const store = new S3BlobStore({ bucket, prefix, pathStyle });
  if (!(await store.hasRegion()))
    throw new ConfigurationError([
      'AWS_REGION is required with BLOB_STORE=s3://…, for example AWS_REGION=eu-central-1',
    ]);
  return store;
}
