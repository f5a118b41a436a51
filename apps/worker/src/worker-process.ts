import type { AddressInfo, Server } from 'node:net';
import type { NestApplicationOptions } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { registerEncryptionKeyId } from '#accounts';
import {
  readLiveHeartbeatMembers,
  readVersionWithBuildHash,
  closeRedis,
  createLogger,
  DeadlineError,
  NestFrameworkLogger,
  type ProcessInstance,
  heartbeatSetRedisKey,
  explainListenError,
  type Logger,
  namesOfProcessesWithKnownVersion,
  createProcessInstance,
  digestSettings,
  openRedisAndCheckRequirements,
  pause,
  readEnvironment,
  type RedisClient,
  RedisClock,
  type RunningProcess,
  type StartContext,
  warnAboutUnknownEnvironmentVariables,
  withDeadline,
  WorkerEnvironment,
} from '#platform';
import { type BlobPeers, BlobStoreSharingChecker, BlobStoreMonitor, openBlobStore } from '#blobs';
import { openStatsRecorder } from '#metrics';
import { startTracing } from '#tracing';
import { WorkerMetrics } from './metrics/worker-metrics.js';
import { WorkerTraces } from './tracing/worker-traces.js';
import { WorkerModule } from './worker.module.js';

/** Starts a worker with the configuration from the environment. */
export async function startWorker({ setLog, fail }: StartContext): Promise<RunningProcess> {
  const environment = readEnvironment(WorkerEnvironment);
  const logger = createLogger('worker', environment.LOG_LEVEL);
  setLog(logger);
  warnAboutUnknownEnvironmentVariables(logger);
  const redis = await openRedisAndCheckRequirements(environment.REDIS_URL, 'patient', logger, fail);
  const options: NestApplicationOptions = { logger: new NestFrameworkLogger(logger), abortOnError: false };
  try {
    await registerEncryptionKeyId(environment, redis, logger, fail);
    const clock = new RedisClock(redis, environment.REDIS_KEY_PREFIX, logger);
    await clock.start();
    const instance = createProcessInstance(
      readVersionWithBuildHash(),
      clock.now(),
      digestSettings(environment),
    );
    const blobs = await openBlobStore(environment);
    const sharing = environment.WORKER_ROLES.includes('relay')
      ? new BlobStoreSharingChecker(blobs, gatewayPeers(redis, environment, instance), logger)
      : undefined;
    const blobStoreMonitor = new BlobStoreMonitor(blobs, logger, sharing);
    await blobStoreMonitor.start();
    const stats = openStatsRecorder(redis, environment.REDIS_KEY_PREFIX, clock, logger);
    const metrics = new WorkerMetrics(redis, clock, stats);
    const tracing = await startTracing('tidings-worker', instance, environment, logger);
    const app = await NestFactory.create<NestFastifyApplication>(
      WorkerModule.register({
        ...{ environment, logger, instance, redis, clock, blobs, blobStoreMonitor, metrics },
        traces: WorkerTraces.of(tracing),
      }),
      new FastifyAdapter({ forceCloseConnections: true }),
      options,
    );
    const port = await listen(app, environment);
    logger.info(
      { host: environment.WORKER_HOST, port, roles: environment.WORKER_ROLES },
      'the worker is running',
    );
    return {
      port,
      stop: async () => {
        clock.stop();
        await closeWithinLimit(app, redis, logger);
        await stats.stop();
        await blobStoreMonitor.stop();
        await tracing?.close();
        await closeRedis(redis);
      },
    };
  } catch (error) {
    redis.disconnect();
    throw error;
  }
}

/** Returns the running gateways. Gateways store the files that the worker reads. */
function gatewayPeers(
  redis: RedisClient,
  { REDIS_KEY_PREFIX }: WorkerEnvironment,
  { name }: ProcessInstance,
): BlobPeers {
  const key = heartbeatSetRedisKey(REDIS_KEY_PREFIX, 'gateways');
  return {
    name,
    others: async () => namesOfProcessesWithKnownVersion(await readLiveHeartbeatMembers(redis, key)),
  };
}

/**
 * Maximum duration of a clean shutdown, in milliseconds. Unfinished work stays in Redis under leases, and
 * other workers continue it.
 */
const MAX_CLOSE_MS = 15_000;
/**
 * Time without a reply after which Redis counts as unavailable, in milliseconds. The shutdown then stops
 * waiting.
 */
const PING_TIMEOUT_MS = 1_000;
const PING_INTERVAL_MS = 250;

async function closeWithinLimit(
  app: NestFastifyApplication,
  redis: RedisClient,
  logger: Logger,
): Promise<void> {
  const done = new AbortController();
  try {
    await Promise.race([
      withDeadline(app.close(), MAX_CLOSE_MS, 'closing'),
      untilRedisIsUnavailable(redis, done.signal),
    ]);
  } catch (error) {
    if (!(error instanceof DeadlineError)) throw error;
    logger.warn(
      { reason: error.message },
      'the shutdown timed out; other workers continue the unfinished work after its leases have expired',
    );
  } finally {
    done.abort();
  }
}

/** Resolves when Redis no longer replies. */
async function untilRedisIsUnavailable(redis: RedisClient, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      await withDeadline(redis.ping(), PING_TIMEOUT_MS, 'PING');
    } catch {
      return;
    }
    await pause(PING_INTERVAL_MS, signal);
  }
}

async function listen(app: NestFastifyApplication, environment: WorkerEnvironment): Promise<number> {
  const { WORKER_HOST: host, WORKER_PORT: port } = environment;
  try {
    await app.listen(port, host);
  } catch (error) {
    throw explainListenError(error, { host, port, hostVariable: 'WORKER_HOST', portVariable: 'WORKER_PORT' });
  }
  const server: Server = app.getHttpServer();
  return (server.address() as AddressInfo).port;
}
