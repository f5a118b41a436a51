import type { Instance, Logger, RedisClient, RedisClock, WorkerEnvironment } from '#platform';
import type { BlobStore, BlobStoreWatch } from '#blobs';

/** The connections and clients that the process opens before Nest builds its modules. */
export interface OpenedResources {
  environment: WorkerEnvironment;
  logger: Logger;
  instance: Instance;
  redis: RedisClient;
  clock: RedisClock;
  blobs: BlobStore;
  blobWatch: BlobStoreWatch;
}
