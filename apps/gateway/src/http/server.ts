import { FastifyAdapter } from '@nestjs/platform-fastify';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { TIMELINE_PAGE_READ_TIME_LIMIT_MS } from '#conversations';
import type { Logger } from '#platform';
import type { Tracing } from '#tracing';
import { GATEWAY_HEADER } from '#upstream';
import { Problem } from '../problems/problem.js';
import { PROBLEM_TYPE } from '../problems/problem-catalog.js';
import { pathOf } from './request-path.js';
import { useJsonBodies } from './body-parsers.js';
import { useBrowserRules } from './browser-rules.js';
import { answerClientError } from './client-error.js';
import { LIMITS } from './limits.js';
import { reportRequestEnd } from './request-ends.js';
import { requestIdOf } from './request-id.js';
import { useRequestLog } from './request-log.js';
import { RouteTable } from './route-table.js';
import { useServerHooks } from './server-hooks.js';
import { useSlowCallers } from './slow-callers.js';
import { traceRequests } from '../tracing/request-traces.js';
import { useUnusualRequests } from './unusual-requests.js';

/** Settings of the HTTP server that come from the environment. */
export interface ServerSettings {
  uploadMaxBytes: number;
  /** Timeout of an upstream request, in milliseconds. The caller's connection is idle meanwhile. */
  upstreamTimeoutMs: number;
  /** Web origins whose scripts may call the API. */
  origins: readonly string[];
  /** Absent if requests are not traced. */
  tracing?: Tracing | undefined;
}

/** Time that a read needs in addition to its upstream request, in milliseconds: mainly the wait for the request budget. */
const READ_OVERHEAD_MS = 10_000;

/** Maximum delay of a timer in Node.js, in milliseconds. */
const MAX_TIMER_MS = 2_147_483_647;

/**
 * Options of the multipart parser that are missing in the types of the Fastify plugin.
 *
 * With a buffer smaller than a chunk of the socket (64 KB), the parser stops at a part that it skips, for example
 * because of its invalid header, and the request never ends.
 */
const PARSER_OPTIONS: object = { fileHwm: LIMITS.partBufferBytes };

/** Creates the HTTP server with the limits and hooks of every route. */
export function createServer(
  logger: Logger,
  { uploadMaxBytes, upstreamTimeoutMs, origins, tracing }: ServerSettings,
): FastifyAdapter {
  const adapter = new FastifyAdapter({
    logger: false,
    bodyLimit: LIMITS.bodyBytes,
    connectionTimeout: idleMs(upstreamTimeoutMs),
    requestTimeout: LIMITS.requestMs,
    keepAliveTimeout: LIMITS.keepAliveMs,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    requestIdHeader: false,
    genReqId: requestIdOf,
    routerOptions: { maxParamLength: LIMITS.parameterLength },
    http: {
      maxHeaderSize: LIMITS.headersBytes,
      headersTimeout: LIMITS.headersMs,
      connectionsCheckingInterval: 2_000,
      // The hooks reject a missing Host header with problem+json; Node would answer without a body.
      requireHostHeader: false,
    },
    frameworkErrors: answerBadUrl,
    clientErrorHandler: answerClientError,
    multipart: {
      ...PARSER_OPTIONS,
      throwFileSizeLimit: false,
      // The parser must pass on every part as bytes. Otherwise, it would replace invalid bytes of a text with U+FFFD.
      isPartAFile: () => true,
      limits: {
        // One byte above the limit of each kind of part, so that its reader can detect a part that is too large.
        fileSize: Math.max(uploadMaxBytes, LIMITS.partBytes) + 1,
        parts: 33,
        headerPairs: 32,
      },
    },
  });
  const server = adapter.getInstance();
  const routes = new RouteTable();
  routes.watch(server);
  // First, so that every request is traced and logged, and so that every other hook knows the trace of its request.
  if (tracing !== undefined) traceRequests(server, tracing);
  useRequestLog(server, logger);
  useJsonBodies(server);
  useBrowserRules(adapter, origins);
  useUnusualRequests(server);
  useSlowCallers(server);
  useServerHooks(server, routes);
  server.server.maxConnections = LIMITS.connections;
  return adapter;
}

/**
 * Returns the idle timeout of a connection: longer than any read. A caller whose request waits for a slow upstream
 * then gets 504 or a short timeline page instead of a closed connection. The longest read is that of a timeline page,
 * whose last upstream request may begin shortly before the time limit of the page.
 */
function idleMs(upstreamTimeoutMs: number): number {
  const readMs = TIMELINE_PAGE_READ_TIME_LIMIT_MS + upstreamTimeoutMs + READ_OVERHEAD_MS;
  return Math.min(MAX_TIMER_MS, Math.max(LIMITS.idleMs, readMs));
}

/** Answers and reports a request whose URL cannot be parsed. No hook or handler sees such a request. */
function answerBadUrl(
  error: Error & { code?: string },
  request: FastifyRequest,
  reply: Pick<FastifyReply, 'code' | 'headers' | 'send' | 'elapsedTime'>,
): void {
  const problem =
    error.code === 'FST_ERR_BAD_URL'
      ? new Problem('malformed_body', 'The URL is not valid.')
      : new Problem('not_found', 'This URL does not exist.');
  reply.code(problem.status);
  reply.headers({
    'x-request-id': request.id,
    [GATEWAY_HEADER.name]: GATEWAY_HEADER.value,
    'cache-control': 'no-store',
    'content-type': PROBLEM_TYPE,
  });
  reply.send(problem.toJson(pathOf(request.url), request.id));
  reportRequestEnd(request, { status: problem.status, durationMs: reply.elapsedTime });
}
