import type { FastifyInstance, FastifyRequest } from 'fastify';
import { type Logger, traceIdLogField } from '#platform';
import { callerOf } from '../auth/caller.js';
import { traceOf } from '../tracing/request-traces.js';
import { onRequestEnd, type SentResponse } from './request-ends.js';

/** Logs one line per request. */
export function useRequestLog(server: FastifyInstance, logger: Logger): void {
  onRequestEnd(server, (request, response) => {
    logRequest(logger, request, response);
  });
}

/** The line omits the URL, query, body, API key, token and cookie, which may contain private data. */
function logRequest(logger: Logger, request: FastifyRequest, response: SentResponse | undefined): void {
  const { account, tokenId, session } = callerOf(request) ?? {};
  logger.info(
    {
      requestId: request.id,
      ...traceIdLogField(traceOf(request)),
      method: request.method,
      route: request.routeOptions.url ?? null,
      ...(account === undefined ? {} : { account }),
      ...(tokenId === undefined ? {} : { tokenId }),
      ...(session === undefined ? {} : { sessionId: session.id }),
      ...(response === undefined
        ? { aborted: true }
        : { status: response.status, durationMs: Math.round(response.durationMs) }),
    },
    'request.ended',
  );
}
