import type { Instance, Logger, RedisClient, RedisClock, WorkerEnvironment } from '#platform';
import type { BlobStore, BlobStoreWatch } from '#blobs';

/** What the process has opened before its modules are put together. */
export interface Opened {
  environment: WorkerEnvironment;
  logger: Logger;
  instance: Instance;
  redis: RedisClient;
  clock: RedisClock;
  blobs: BlobStore;
  blobWatch: BlobStoreWatch;
}
