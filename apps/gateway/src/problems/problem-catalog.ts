/** Every code that an error can carry, with its status and title. CONTRACT section 3; a code never changes its status. */
export const PROBLEMS = {
  unauthenticated: { status: 401, title: 'The API key is missing or unknown' },
  forbidden: { status: 403, title: 'The API key may not do this' },
  validation_failed: { status: 400, title: 'Something in the request is not as it must be' },
  malformed_body: { status: 400, title: 'The request cannot be read' },
  not_found: { status: 404, title: 'There is no such thing' },
  method_not_allowed: { status: 405, title: 'The address does not know this method' },
  conflict: { status: 409, title: 'The present state does not allow this' },
  cursor_expired: { status: 410, title: 'The cursor is too old' },
  idempotency_in_progress: {
    status: 409,
    title: 'The first request of this idempotency key is still running',
  },
  payload_too_large: { status: 413, title: 'The request is too large' },
  unsupported_media_type: { status: 415, title: 'The content type is not one that is read here' },
  expectation_failed: { status: 417, title: 'The header Expect asks for what is not done here' },
  idempotency_key_reused: { status: 422, title: 'The idempotency key was used for another request' },
  rate_limited: { status: 429, title: 'Too many requests' },
  internal: { status: 500, title: 'Something went wrong here' },
  upstream_error: { status: 502, title: 'The messaging service answered with an error' },
  upstream_unavailable: { status: 503, title: 'The messaging service cannot be asked at the moment' },
  unavailable: { status: 503, title: 'The gateway cannot store anything at the moment' },
  loop_detected: { status: 508, title: 'The request comes from a Tidings gateway' },
  upstream_timeout: { status: 504, title: 'The messaging service did not answer in time' },
} as const satisfies Record<string, { status: number; title: string }>;

export type ProblemCode = keyof typeof PROBLEMS;

export const PROBLEM_CODES = Object.keys(PROBLEMS) as [ProblemCode, ...ProblemCode[]];

/** The media type of RFC 9457. */
export const PROBLEM_TYPE = 'application/problem+json';
