import { type ArgumentsHost, Catch, type ExceptionFilter, Inject } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Logger, traceIdLogField } from '#platform';
import { pathOf } from '../http/request-path.js';
import { LOGGER } from '../tokens.js';
import type { Problem } from './problem.js';
import { PROBLEM_TYPE } from './problem-catalog.js';
import { traceOf } from '../tracing/request-traces.js';
import { problemOf } from './problem-of.js';

/** Answers every error with an `application/problem+json` response. */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  constructor(@Inject(LOGGER) private readonly logger: Logger) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    const request = http.getRequest<FastifyRequest>();
    const reply = http.getResponse<FastifyReply>();
    const problem = problemOf(error);
    this.report(problem, request);
    if (reply.sent || reply.raw.headersSent) {
      // The response has begun, so the error can only be shown by closing the connection.
      reply.raw.destroy();
      return;
    }
    void reply
      .code(problem.status)
      .headers({ ...problem.headers, 'x-request-id': request.id })
      .type(PROBLEM_TYPE)
      .send(problem.toJson(pathOf(request.url), request.id));
  }

  private report(problem: Problem, request: FastifyRequest): void {
    if (problem.status < 500) return;
    const { code, cause } = problem;
    const details = {
      requestId: request.id,
      ...traceIdLogField(traceOf(request)),
      code,
      ...(cause === undefined ? {} : { err: cause }),
    };
    if (problem.code === 'internal')
      this.logger.error(details, 'a request of a caller failed with an internal error');
    else
      this.logger.warn(
        details,
        'a request of a caller failed because of Redis, the blob store, the messaging service or a request loop; the field code says which',
      );
  }
}
