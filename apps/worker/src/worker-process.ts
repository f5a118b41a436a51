import type { AddressInfo, Server } from 'node:net';
import type { NestApplicationOptions } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import {
  closeRedis,
  createLogger,
  FrameworkLogger,
  listenFault,
  openFitRedis,
  readEnvironment,
  type RunningProcess,
  type StartContext,
  WorkerEnvironment,
} from '#platform';
import { WorkerModule } from './worker.module.js';

/** Starts a worker as the environment says. */
export async function startWorker({ useLog, fail }: StartContext): Promise<RunningProcess> {
  const environment = readEnvironment(WorkerEnvironment);
  const logger = createLogger('worker', environment.LOG_LEVEL);
  useLog(logger);
  const redis = await openFitRedis(environment.REDIS_URL, 'patient', logger, fail);
  const options: NestApplicationOptions = { logger: new FrameworkLogger(logger), abortOnError: false };
  try {
    const app = await NestFactory.create<NestFastifyApplication>(
      WorkerModule.register({ environment, logger, redis }),
      new FastifyAdapter({ forceCloseConnections: true }),
      options,
    );
    const port = await listen(app, environment);
    logger.info({ host: environment.WORKER_HOST, port, roles: environment.WORKER_ROLES }, 'working');
    return {
      port,
      stop: async () => {
        await app.close();
        await closeRedis(redis);
      },
    };
  } catch (error) {
    redis.disconnect();
    throw error;
  }
}

async function listen(app: NestFastifyApplication, environment: WorkerEnvironment): Promise<number> {
  const { WORKER_HOST: host, WORKER_PORT: port } = environment;
  try {
    await app.listen(port, host);
  } catch (error) {
    throw listenFault(error, { host, port, hostVariable: 'WORKER_HOST', portVariable: 'WORKER_PORT' });
  }
  const server: Server = app.getHttpServer();
  return (server.address() as AddressInfo).port;
}
