import type { NestApplicationOptions, Provider } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { NestFrameworkLogger } from '#platform';
import { GatewayModule } from './app.module.js';
import type { OpenedResources } from './bindings.js';
import { ApiKeyUseRecorder } from './auth/api-key-use-recorder.js';
import { useAuthentication } from './auth/authentication.js';
import { limitBodyMemory } from './auth/body-memory.js';
import { limitReplyMemory } from './auth/reply-memory.js';
import { serveConsole } from './console/console-page.js';
import { serveDocs } from './docs/openapi.js';
import { createServer } from './http/server.js';
import { measureRequests } from './metrics/http-metrics.js';
import { serveQueues } from './queues/serve-queues.js';
import { AUTHENTICATOR, METRICS, RATE_LIMIT, TOKEN_RATE_LIMIT } from './tokens.js';

/** Creates the gateway application. The caller starts it with `listen`. */
export async function createGateway(
  { environment, logger, tracing }: OpenedResources,
  bound: readonly Provider[],
): Promise<NestFastifyApplication> {
  const options: NestApplicationOptions = {
    logger: new NestFrameworkLogger(logger),
    abortOnError: false,
    bodyParser: false,
  };
  const app = await NestFactory.create<NestFastifyApplication>(
    GatewayModule.register(bound),
    createServer(logger, {
      uploadMaxBytes: environment.UPLOAD_MAX_BYTES,
      upstreamTimeoutMs: environment.UPSTREAM_TIMEOUT_MS,
      origins: environment.CORS_ORIGINS,
      tracing,
    }),
    options,
  );
  measureRequests(app.getHttpAdapter().getInstance(), app.get(METRICS));
  await serveConsole(app);
  useAuthentication(
    app.getHttpAdapter().getInstance(),
    app.get(AUTHENTICATOR),
    { apiKey: app.get(RATE_LIMIT), token: app.get(TOKEN_RATE_LIMIT) },
    app.get(ApiKeyUseRecorder),
  );
  limitBodyMemory(app.getHttpAdapter().getInstance());
  limitReplyMemory(app.getHttpAdapter().getInstance());
  serveDocs(app);
  serveQueues(app);
  return app;
}
