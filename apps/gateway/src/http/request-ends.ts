import type { FastifyInstance, FastifyRequest } from 'fastify';
import { whenClosed } from './disconnect-signal.js';

/** The response of a request. */
export interface SentResponse {
  status: number;
  /** Duration of the request, in milliseconds. */
  durationMs: number;
}

/** @param response undefined if the connection closed before the response was sent */
type Report = (request: FastifyRequest, response: SentResponse | undefined) => void;

const reportsOf = new WeakMap<FastifyInstance, Report[]>();

/**
 * Calls the function once at the end of each request. The first call for a server must come before its other hooks,
 * because a hook that rejects a request keeps later hooks from running.
 *
 * Fastify's hook `onRequestAbort` is not enough: it does not run after the body of the request was read.
 */
export function onRequestEnd(server: FastifyInstance, report: Report): void {
  const reports = reportsOf.get(server);
  if (reports === undefined) reportEnds(server, [report]);
  else reports.push(report);
}

/** Reports the end of a request whose URL cannot be parsed. No hook sees such a request. */
export function reportRequestEnd(request: FastifyRequest, response: SentResponse): void {
  for (const report of reportsOf.get(request.server) ?? []) report(request, response);
}

function reportEnds(server: FastifyInstance, reports: Report[]): void {
  reportsOf.set(server, reports);
  const ended = new WeakSet<FastifyRequest>();
  const end: Report = (request, response) => {
    if (ended.has(request)) return;
    ended.add(request);
    for (const report of reports) report(request, response);
  };
  // Callbacks instead of promises: these hooks run in every request.
  server.addHook('onRequest', (request, reply, done) => {
    whenClosed(reply.raw, () => {
      end(request, undefined);
    });
    done();
  });
  server.addHook('onResponse', (request, reply, done) => {
    end(request, { status: reply.statusCode, durationMs: reply.elapsedTime });
    done();
  });
}
