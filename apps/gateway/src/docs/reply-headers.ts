import type { OpenAPIObject } from '@nestjs/swagger';
import { operationsOf, type Response } from './operations.js';

type Headers = NonNullable<Response['headers']>;

const TEXT = { type: 'string' } as const;
const COUNT = { type: 'integer', minimum: 0 } as const;

const ALWAYS: Headers = {
  'X-Request-Id': {
    required: true,
    description:
      'Id under which the gateway logs the request: the `X-Request-Id` header of the request if that header is valid, else a new id.',
    schema: TEXT,
  },
};

const GATEWAY_HEADER: Headers = {
  'Tidings-Gateway': {
    description:
      'The header `Tidings-Gateway` marks every response of a Tidings gateway. A gateway does not accept another Tidings gateway as its messaging service.',
    schema: { type: 'string', enum: ['1'] },
  },
};

const RETRY_AFTER: Headers = {
  'Retry-After': {
    description: 'Time to wait before a retry, in seconds.',
    schema: { type: 'integer', minimum: 1 },
  },
};

const RATE_LIMIT: Headers = {
  'RateLimit-Limit': {
    description:
      'Maximum number of requests per minute. For a token, the limit of the token or of its API key, whichever has fewer requests left.',
    schema: COUNT,
  },
  'RateLimit-Remaining': {
    description: 'Number of requests that this limit still permits in the current minute.',
    schema: COUNT,
  },
  'RateLimit-Reset': { description: 'Time until the rate limit is reset, in seconds.', schema: COUNT },
};

const WWW_AUTHENTICATE: Headers = {
  'WWW-Authenticate': {
    description:
      '`Bearer error="invalid_token"` if the request came with an invalid token, and `Bearer` if the request has both an API key and a token. Otherwise, the response does not have this header.',
    schema: TEXT,
  },
};

/** Statuses whose responses may have a `Retry-After` header. */
const RETRYABLE_STATUSES: ReadonlySet<string> = new Set(['409', '429', '503']);

/** Documents the response headers that every operation has. */
export function describeReplyHeaders(document: OpenAPIObject): void {
  for (const { path, operation } of operationsOf(document)) {
    for (const [status, response] of Object.entries(operation.responses)) {
      if (response === undefined || '$ref' in response) continue;
      response.headers = { ...response.headers, ...headersOf(path, status) };
    }
  }
}

function headersOf(path: string, status: string): Headers {
  // A 401 has rate limit headers too if the API key was revoked after the request was counted.
  const withKey = path.startsWith('/v1/');
  return {
    ...ALWAYS,
    ...GATEWAY_HEADER,
    ...(RETRYABLE_STATUSES.has(status) ? RETRY_AFTER : {}),
    ...(withKey ? RATE_LIMIT : {}),
    ...(withKey && status === '401' ? WWW_AUTHENTICATE : {}),
  };
}
