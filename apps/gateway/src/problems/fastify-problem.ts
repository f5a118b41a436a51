import type { HttpException } from '@nestjs/common';
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
