import type { HttpException } from '@nestjs/common';
import { isRecord } from '#platform';
import { internal, Problem } from './problem.js';
import type { ProblemCode } from './problem-catalog.js';

const CODES: Readonly<Record<number, ProblemCode>> = {
  401: 'unauthenticated',
  403: 'forbidden',
  404: 'not_found',
  405: 'method_not_allowed',
  409: 'conflict',
  413: 'payload_too_large',
  // The URL is longer than every URL that the gateway serves.
  414: 'not_found',
  415: 'unsupported_media_type',
  429: 'rate_limited',
};

const DETAILS: Partial<Record<ProblemCode, string>> = {
  not_found: 'This URL does not exist.',
  payload_too_large: 'The request body exceeds the size limit.',
  unsupported_media_type: 'Send application/json. POST /v1/messages/send also accepts multipart/form-data.',
};

/**
 * True if the caller's connection broke while the gateway was reading the request body. Node's `ECONNRESET` alone could
 * also come from a connection that the gateway opened; the framework adds status 400 only while it reads a body.
 */
export function isBrokenBody(error: unknown): boolean {
  return isRecord(error) && error.code === 'ECONNRESET' && error.statusCode === 400 && !('syscall' in error);
}

/** Converts an error that the framework raised outside the gateway's own code to a problem. */
export function fastifyProblem(error: HttpException): Problem {
  const status = error.getStatus();
  if (status >= 500) return internal(error);
  const code = CODES[status] ?? 'malformed_body';
  return new Problem(code, DETAILS[code] ?? error.message, { cause: error });
}
