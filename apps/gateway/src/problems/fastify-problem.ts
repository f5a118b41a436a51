import type { HttpException } from '@nestjs/common';
import { isRecord } from '#upstream';
import { Problem } from './problem.js';
import type { ProblemCode } from './problem-catalog.js';

const CODES: Readonly<Record<number, ProblemCode>> = {
  401: 'unauthenticated',
  403: 'forbidden',
  404: 'not_found',
  405: 'method_not_allowed',
  409: 'conflict',
  413: 'payload_too_large',
  // An address that is longer than any that exists.
  414: 'not_found',
  415: 'unsupported_media_type',
  429: 'rate_limited',
};

const DETAILS: Partial<Record<ProblemCode, string>> = {
  not_found: 'Nothing is served at this address.',
  payload_too_large: 'The body is larger than is read here.',
  unsupported_media_type: 'Send application/json; POST /v1/messages/send reads multipart/form-data as well.',
};

/**
 * Whether it is the end of a body that broke off in the caller's hands. The framework marks what it meets while it
 * reads a body with a 400; Node's word alone could as well be about a connection of our own.
 */
export function isBrokenBody(error: unknown): boolean {
  return isRecord(error) && error.code === 'ECONNRESET' && error.statusCode === 400 && !('syscall' in error);
}

/** The problem of an error that the framework raised by itself, before or around our handlers. */
export function fastifyProblem(error: HttpException): Problem {
  const status = error.getStatus();
  if (status >= 500) {
    return new Problem('internal', 'Something went wrong here; it is logged under the requestId.', {
      cause: error,
    });
  }
  const code = CODES[status] ?? 'malformed_body';
  return new Problem(code, DETAILS[code] ?? error.message, { cause: error });
}
