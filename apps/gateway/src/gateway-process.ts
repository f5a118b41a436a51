import type { AddressInfo, Server } from 'node:net';
import type { Server as HttpServer } from 'node:http';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { noteEncryptionKey } from '#accounts';
import {
  aliveIn,
  buildVersion,
  closeRedis,
  createLogger,
  GatewayEnvironment,
  type Instance,
  instancesKey,
  listenFault,
  namesOf,
  newInstance,
  openFitRedis,
  readEnvironment,
  type RedisClient,
  RedisClock,
  type RunningProcess,
  saysRole,
  type StartContext,
  warnOfUnknownVariables,
} from '#platform';
import { type BlobPeers, BlobSharing, BlobStoreWatch, openBlobStore } from '#blobs';
import { bindings } from './bindings.js';
import { createGateway } from './create-gateway.js';

/** What is still in flight by then is cut off, in milliseconds. */
const FINISH_WITHIN_MS = 15_000;
const SWEEP_EVERY_MS = 100;

/** Starts the gateway as the environment says. */
export async function startGateway({ useLog, fail }: StartContext): Promise<RunningProcess> {
  const environment = readEnvironment(GatewayEnvironment);
  const logger = createLogger('gateway', environment.LOG_LEVEL);
  useLog(logger);
  warnOfUnknownVariables(logger);
  const redis = await openFitRedis(environment.REDIS_URL, 'failFast', logger, fail);
  const stopping = new AbortController();
  try {
    await noteEncryptionKey(environment, redis, logger, fail);
    const clock = new RedisClock(redis, environment.REDIS_KEY_PREFIX, logger);
    await clock.start();
    const instance = newInstance(buildVersion(), clock.now());
    const blobs = await openBlobStore(environment);
    const sharing = new BlobSharing(blobs, relayWorkers(redis, environment, instance), logger);
    const blobWatch = new BlobStoreWatch(blobs, logger, undefined, sharing);
    await blobWatch.start();
    const opened = {
      environment,
      logger,
      instance,
      redis,
      clock,
      blobs,
      blobWatch,
      shutdown: stopping.signal,
    };
    const app = await createGateway(opened, bindings(opened));
    const port = await listen(app, environment);
    logger.info({ host: environment.HOST, port }, 'listening');
    return {
      port,
      stop: async () => {
        stopping.abort();
        clock.stop();
        await closeServer(app);
        await blobWatch.stop();
        await closeRedis(redis);
      },
    };
  } catch (error) {
    await closeRedis(redis);
    throw error;
  }
}

/** They open what the gateway stores. */
export function relayWorkers(
  redis: RedisClient,
  { REDIS_KEY_PREFIX }: Pick<GatewayEnvironment, 'REDIS_KEY_PREFIX'>,
  { name }: Pick<Instance, 'name'>,
): BlobPeers {
  const key = instancesKey(REDIS_KEY_PREFIX, 'workers');
  return {
    name,
    others: async () => namesOf((await aliveIn(redis, key)).filter((worker) => saysRole(worker, 'relay'))),
  };
}

async function listen(app: NestFastifyApplication, { HOST, PORT }: GatewayEnvironment): Promise<number> {
  try {
    await app.listen(PORT, HOST);
  } catch (error) {
    throw listenFault(error, { host: HOST, port: PORT, hostVariable: 'HOST', portVariable: 'PORT' });
  }
  const server: Server = app.getHttpServer();
  return (server.address() as AddressInfo).port;
}

/** Takes no new connection, lets requests in flight end, and cuts off what does not. */
async function closeServer(app: NestFastifyApplication): Promise<void> {
  const server: HttpServer = app.getHttpServer();
  // A connection whose request just ended would be kept for the next one.
  const sweep = setInterval(() => {
    server.closeIdleConnections();
  }, SWEEP_EVERY_MS);
  const cut = setTimeout(() => {
    server.closeAllConnections();
  }, FINISH_WITHIN_MS);
  try {
    await app.close();
  } finally {
    clearInterval(sweep);
    clearTimeout(cut);
  }
}
