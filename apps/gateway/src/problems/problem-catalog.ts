/** Every problem code with its HTTP status and title. The codes and statuses are part of the public API: never change them. */
export const PROBLEMS = {
  unauthenticated: { status: 401, title: 'Missing or invalid API key or token' },
  forbidden: { status: 403, title: 'The API key or token does not permit this operation' },
  validation_failed: { status: 400, title: 'The request has invalid fields or parameters' },
  malformed_body: { status: 400, title: 'The request is malformed' },
  not_found: { status: 404, title: 'Not found' },
  method_not_allowed: { status: 405, title: 'Method not allowed' },
  conflict: { status: 409, title: 'The current state of the resource does not allow this operation' },
  cursor_expired: { status: 410, title: 'The cursor has expired' },
  idempotency_in_progress: {
    status: 409,
    title: 'A request with the same idempotency key is still in progress',
  },
  payload_too_large: { status: 413, title: 'The request is too large' },
  unsupported_media_type: { status: 415, title: 'Unsupported content type' },
  expectation_failed: { status: 417, title: 'Unsupported Expect header' },
  idempotency_key_reused: { status: 422, title: 'The idempotency key was used for a different request' },
  rate_limited: { status: 429, title: 'Too many requests' },
  internal: { status: 500, title: 'Internal server error' },
  upstream_error: { status: 502, title: 'The messaging service returned an error' },
  upstream_unavailable: { status: 503, title: 'The messaging service is unavailable' },
  unavailable: { status: 503, title: 'The gateway is temporarily unavailable' },
  loop_detected: { status: 508, title: 'The request comes from a Tidings gateway' },
  upstream_timeout: { status: 504, title: 'The messaging service did not respond in time' },
} as const satisfies Record<string, { status: number; title: string }>;

export type ProblemCode = keyof typeof PROBLEMS;

export const PROBLEM_CODES = Object.keys(PROBLEMS) as [ProblemCode, ...ProblemCode[]];

/** Media type of an error response (RFC 9457). */
export const PROBLEM_TYPE = 'application/problem+json';
