import type { OpenAPIObject } from '@nestjs/swagger';

type Operation = NonNullable<OpenAPIObject['paths'][string]['get']>;
type Response = Exclude<NonNullable<Operation['responses'][string]>, { $ref: string }>;
type Headers = NonNullable<Response['headers']>;

const TEXT = { type: 'string' } as const;
const COUNT = { type: 'integer', minimum: 0 } as const;

const ALWAYS: Headers = {
  'X-Request-Id': {
    required: true,
    description: 'Names the request in our log: the one that came with it, if it is sane.',
    schema: TEXT,
  },
};

const MARK: Headers = {
  'Tidings-Gateway': {
    description: 'Tells other Tidings gateways that this is one: they refuse it as their upstream.',
    schema: { type: 'string', enum: ['1'] },
  },
};

const LATER: Headers = {
  'Retry-After': { description: 'Try again after so many seconds.', schema: { type: 'integer', minimum: 1 } },
};

const RATE_LIMIT: Headers = {
  'RateLimit-Limit': { description: 'Requests of the key a minute.', schema: COUNT },
  'RateLimit-Remaining': { description: 'How many are left of them.', schema: COUNT },
  'RateLimit-Reset': { description: 'When there are that many again, in seconds.', schema: COUNT },
};

const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const;

/** Statuses that may say when to try again. */
const MAYBE_LATER: ReadonlySet<string> = new Set(['409', '429', '503']);

/** Writes down the headers that replies have whatever the operation is. */
export function describeReplyHeaders({ paths }: OpenAPIObject): void {
  for (const [path, item] of Object.entries(paths)) {
    for (const method of METHODS) {
      for (const [status, response] of Object.entries(item[method]?.responses ?? {})) {
        if (response === undefined || '$ref' in response) continue;
        response.headers = { ...response.headers, ...headersOf(path, status) };
      }
    }
  }
}

function headersOf(path: string, status: string): Headers {
  // Also of a key that is refused only after it was counted: it was revoked meanwhile.
  const withKey = path.startsWith('/v1/');
  return {
    ...ALWAYS,
    ...MARK,
    ...(MAYBE_LATER.has(status) ? LATER : {}),
    ...(withKey ? RATE_LIMIT : {}),
  };
}
