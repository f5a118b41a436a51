import type { AddressInfo, Server } from 'node:net';
import type { Server as HttpServer } from 'node:http';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { registerEncryptionKeyId } from '#accounts';
import {
  readLiveHeartbeatMembers,
  readVersionWithBuildHash,
  closeRedis,
  createLogger,
  GatewayEnvironment,
  type ProcessInstance,
  heartbeatSetRedisKey,
  explainListenError,
  namesOfProcessesWithKnownVersion,
  createProcessInstance,
  digestSettings,
  openRedisAndCheckRequirements,
  readEnvironment,
  type RedisClient,
  RedisClock,
  type RunningProcess,
  workerHasRole,
  type StartContext,
  warnAboutUnknownEnvironmentVariables,
} from '#platform';
import { type BlobPeers, BlobStoreSharingChecker, BlobStoreMonitor, openBlobStore } from '#blobs';
import { openStatsRecorder } from '#metrics';
import { startTracing } from '#tracing';
import { bindings } from './bindings.js';
import { createGateway } from './create-gateway.js';

/** Time for requests in flight to end before the gateway closes their connections, in milliseconds. */
const SHUTDOWN_TIMEOUT_MS = 15_000;
const CLOSE_IDLE_INTERVAL_MS = 100;

/** Starts the gateway with the settings of the environment. */
export async function startGateway({ setLog, fail }: StartContext): Promise<RunningProcess> {
  const environment = readEnvironment(GatewayEnvironment);
  const logger = createLogger('gateway', environment.LOG_LEVEL);
  setLog(logger);
  warnAboutUnknownEnvironmentVariables(logger);
  const redis = await openRedisAndCheckRequirements(environment.REDIS_URL, 'failFast', logger, fail);
  const stopping = new AbortController();
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
    const sharing = new BlobStoreSharingChecker(blobs, relayWorkers(redis, environment, instance), logger);
    const blobStoreMonitor = new BlobStoreMonitor(blobs, logger, sharing);
    await blobStoreMonitor.start();
    const tracing = await startTracing('tidings-gateway', instance, environment, logger);
    const stats = openStatsRecorder(redis, environment.REDIS_KEY_PREFIX, clock, logger);
    const opened = {
      environment,
      logger,
      instance,
      redis,
      clock,
      blobs,
      blobStoreMonitor,
      stats,
      tracing,
      shutdown: stopping.signal,
    };
    const app = await createGateway(opened, bindings(opened));
    const port = await listen(app, environment);
    logger.info({ host: environment.HOST, port }, 'the gateway is listening for requests');
    return {
      port,
      stop: async () => {
        stopping.abort();
        clock.stop();
        await closeServer(app);
        await stats.stop();
        await blobStoreMonitor.stop();
        await tracing?.close();
        await closeRedis(redis);
      },
    };
  } catch (error) {
    await closeRedis(redis);
    throw error;
  }
}

/** Returns the relay workers, which read the files that the gateway stores in the blob store. */
export function relayWorkers(
  redis: RedisClient,
  { REDIS_KEY_PREFIX }: Pick<GatewayEnvironment, 'REDIS_KEY_PREFIX'>,
  { name }: Pick<ProcessInstance, 'name'>,
): BlobPeers {
  const key = heartbeatSetRedisKey(REDIS_KEY_PREFIX, 'workers');
  return {
    name,
    others: async () =>
      namesOfProcessesWithKnownVersion(
        (await readLiveHeartbeatMembers(redis, key)).filter((worker) => workerHasRole(worker, 'relay')),
      ),
  };
}

async function listen(app: NestFastifyApplication, { HOST, PORT }: GatewayEnvironment): Promise<number> {
  try {
    await app.listen(PORT, HOST);
  } catch (error) {
    throw explainListenError(error, { host: HOST, port: PORT, hostVariable: 'HOST', portVariable: 'PORT' });
  }
  const server: Server = app.getHttpServer();
  return (server.address() as AddressInfo).port;
}

/** Stops accepting connections, waits for requests in flight, and closes the remaining connections after a timeout. */
async function closeServer(app: NestFastifyApplication): Promise<void> {
  const server: HttpServer = app.getHttpServer();
  // A keep-alive connection would otherwise stay open after its request ended.
  const closeIdle = setInterval(() => {
    server.closeIdleConnections();
  }, CLOSE_IDLE_INTERVAL_MS);
  const closeAll = setTimeout(() => {
    server.closeAllConnections();
  }, SHUTDOWN_TIMEOUT_MS);
  try {
    await app.close();
  } finally {
    clearInterval(closeIdle);
    clearTimeout(closeAll);
  }
}
