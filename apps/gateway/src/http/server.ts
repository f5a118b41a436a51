import { FastifyAdapter } from '@nestjs/platform-fastify';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from '#platform';
import { Problem } from '../problems/problem.js';
import { PROBLEM_TYPE } from '../problems/problem-catalog.js';
import { pathOf } from '../problems/problem.filter.js';
import { useJsonBodies } from './body-parsers.js';
import { useBrowserRules } from './browser-rules.js';
import { answerClientError } from './client-error.js';
import { LIMITS } from './limits.js';
import { requestIdOf } from './request-id.js';
import { RouteTable } from './route-table.js';
import { useServerHooks } from './server-hooks.js';
import { useSlowCallers } from './slow-callers.js';
import { useUnusualRequests } from './unusual-requests.js';

/** What of the environment the HTTP server has to know. */
export interface ServerSettings {
  uploadMaxBytes: number;
  /** How long upstream may take for a reply, in milliseconds; a caller hears nothing meanwhile. */
  upstreamTimeoutMs: number;
  /** Of web pages that may call the API from a browser. */
  origins: readonly string[];
}

/** What a read takes besides upstream's own time, in milliseconds: above all its wait for the budget. */
const BESIDE_UPSTREAM_MS = 10_000;

/** The longest time that a timer of Node's can be set to, in milliseconds. */
const LONGEST_TIMER_MS = 2_147_483_647;

/** The HTTP server, with the bounds and habits that hold for every route. */
export function createServer(
  logger: Logger,
  { uploadMaxBytes, upstreamTimeoutMs, origins }: ServerSettings,
): FastifyAdapter {
  const adapter = new FastifyAdapter({
    logger: false,
    bodyLimit: LIMITS.body,
    connectionTimeout: silenceMs(upstreamTimeoutMs),
    requestTimeout: LIMITS.requestMs,
    keepAliveTimeout: LIMITS.keepAliveMs,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    requestIdHeader: false,
    genReqId: requestIdOf,
    routerOptions: { maxParamLength: LIMITS.parameter },
    http: {
      maxHeaderSize: LIMITS.headers,
      headersTimeout: LIMITS.headersMs,
      connectionsCheckingInterval: 2_000,
      // Node's own refusal would be bare; ours is in the hooks.
      requireHostHeader: false,
    },
    frameworkErrors: answerBadAddress,
    clientErrorHandler: answerClientError,
    multipart: {
      throwFileSizeLimit: false,
      limits: {
        // One byte more than allowed is read, so that whoever stores it can tell.
        fileSize: uploadMaxBytes + 1,
        files: 1,
        fields: 32,
        parts: 33,
        fieldSize: LIMITS.part,
        headerPairs: 32,
      },
    },
  });
  const server = adapter.getInstance();
  const routes = new RouteTable();
  routes.watch(server);
  useJsonBodies(server);
  useBrowserRules(adapter, origins);
  useUnusualRequests(server);
  useSlowCallers(server);
  useServerHooks(server, routes, logger);
  server.server.maxConnections = LIMITS.connections;
  return adapter;
}

/** Longer than an upstream that hangs is waited for: its caller is told so, rather than cut off. */
function silenceMs(upstreamTimeoutMs: number): number {
  return Math.min(LONGEST_TIMER_MS, Math.max(LIMITS.silenceMs, upstreamTimeoutMs + BESIDE_UPSTREAM_MS));
}

/** Answers an address that cannot be read, which reaches neither hooks nor handlers. */
function answerBadAddress(
  error: Error & { code?: string },
  request: Pick<FastifyRequest, 'id' | 'url'>,
  reply: Pick<FastifyReply, 'code' | 'headers' | 'send'>,
): void {
  const problem =
    error.code === 'FST_ERR_BAD_URL'
      ? new Problem('malformed_body', 'The address is not valid percent-encoding.')
      : new Problem('not_found', 'Nothing is served at this address.');
  reply.code(problem.status);
  reply.headers({ 'x-request-id': request.id, 'content-type': PROBLEM_TYPE });
  reply.send(problem.toJson(pathOf(request.url), request.id));
}
