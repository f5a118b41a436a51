import type { ProcessInstance, Logger, RedisClient, RedisClock, WorkerEnvironment } from '#platform';
import type { BlobStore, BlobStoreMonitor } from '#blobs';
import type { WorkerMetrics } from './metrics/worker-metrics.js';
import type { WorkerTraces } from './tracing/worker-traces.js';

/** The connections and clients that the process opens before Nest builds its modules. */
export interface OpenedResources {
  environment: WorkerEnvironment;
  logger: Logger;
  instance: ProcessInstance;
  redis: RedisClient;
  clock: RedisClock;
  blobs: BlobStore;
  blobStoreMonitor: BlobStoreMonitor;
  metrics: WorkerMetrics;
  /** Undefined if traces are off. */
  traces: WorkerTraces | undefined;
}
