import {
  type BeforeApplicationShutdown,
  Inject,
  Module,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
} from '@nestjs/common';
import { RedisAccountEraser, RedisAccountStore } from '#accounts';
import type { WorkerEnvironment } from '#platform';
import type { WorkerCore } from '../compose.js';
import { CORE } from '../tokens.js';
import { AccountRemoval } from './account-removal.js';

/** Maximum duration of a gateway request, in milliseconds. Uploads take longest. */
const UPLOAD_MS = 300_000;
/** Additional time that a process may wait for the budget, a slot or Redis, in milliseconds. */
const MARGIN_MS = 60_000;

/** Returns the maximum duration of any work for an account, in milliseconds. */
export function maxWorkDurationOf({
  UPSTREAM_TIMEOUT_MS,
  WEBHOOK_TIMEOUT_MS,
}: Pick<WorkerEnvironment, 'UPSTREAM_TIMEOUT_MS' | 'WEBHOOK_TIMEOUT_MS'>): number {
  return Math.max(UPLOAD_MS, UPSTREAM_TIMEOUT_MS, WEBHOOK_TIMEOUT_MS) + MARGIN_MS;
}

/** Removes the data of removed accounts. */
@Module({})
export class RemovalModule implements OnApplicationBootstrap, OnModuleDestroy, BeforeApplicationShutdown {
  private readonly removal: AccountRemoval;
  private stopped: Promise<void> = Promise.resolve();

  constructor(@Inject(CORE) { environment, redis, blobs, blobStoreMonitor, logger }: WorkerCore) {
    const { REDIS_KEY_PREFIX: prefix } = environment;
    this.removal = new AccountRemoval(
      new RedisAccountStore(redis, prefix),
      new RedisAccountEraser(redis, prefix),
      blobs,
      blobStoreMonitor,
      { lateMs: maxWorkDurationOf(environment) },
      logger,
    );
  }

  onApplicationBootstrap(): void {
    this.removal.start();
  }

  /** Starts stopping without waiting, so that the roles are stopped at the same time. */
  onModuleDestroy(): void {
    this.stopped = this.removal.stop();
  }

  beforeApplicationShutdown(): Promise<void> {
    return this.stopped;
  }
}
