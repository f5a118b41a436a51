import { HttpException } from '@nestjs/common';
import { AccountConflictError, KeyNeededError } from '#accounts';
import { CursorExpiredError } from '#events';
import { BlobStoreUnavailableError, BlobTooLargeError } from '#blobs';
import {
  IdempotencyInProgressError,
  IdempotencyKeyReusedError,
  SendNotCancellableError,
  SendNotResolvableError,
} from '#relay';
import {
  BudgetExhaustedError,
  UpstreamConnectionLostError,
  UpstreamIsGatewayError,
  UpstreamReplyError,
  UpstreamStatusError,
  UpstreamTimeoutError,
  UpstreamUnavailableError,
  UpstreamUnreachableError,
} from '#upstream';
import { DestinationRefusedError, ReplayTooLargeError, WebhookConflictError } from '#webhooks';
import { fastifyProblem, isBrokenBody } from './fastify-problem.js';
import { invalid, Problem, retryAfter, unavailable } from './problem.js';
import { isStoreFault } from './store-fault.js';

const UPSTREAM_RETRY_MS = 5_000;

/** Upstream's ways to say: later. */
const LATER = new Set([429, 503]);

interface Rule {
  claims: (error: unknown) => boolean;
  problem: (error: unknown) => Problem;
}

function rule<E extends Error>(
  type: abstract new (...args: never[]) => E,
  problem: (error: E) => Problem,
): Rule {
  return {
    claims: (error) => error instanceof type,
    problem: (error) => problem(error as E),
  };
}

/** What each error of the domain is answered with: the one place that knows. */
const RULES: readonly Rule[] = [
  rule(Problem, (error) => error),
  rule(BlobTooLargeError, ({ limit }) => {
    const message = `is larger than ${limit} bytes`;
    return new Problem('payload_too_large', `file ${message}.`, { errors: [{ field: 'file', message }] });
  }),
  rule(BlobStoreUnavailableError, unavailable),
  rule(
    IdempotencyInProgressError,
    ({ message }) => new Problem('idempotency_in_progress', message, { headers: retryAfter(1_000) }),
  ),
  rule(IdempotencyKeyReusedError, ({ message }) => new Problem('idempotency_key_reused', message)),
  rule(SendNotCancellableError, ({ message }) => new Problem('conflict', message)),
  rule(SendNotResolvableError, ({ message }) => new Problem('conflict', message)),
  rule(AccountConflictError, ({ message }) => new Problem('conflict', message)),
  rule(KeyNeededError, ({ message }) => invalid({ field: 'apiKey', message })),
  rule(CursorExpiredError, ({ message }) => new Problem('cursor_expired', message)),
  rule(DestinationRefusedError, ({ message }) =>
    invalid({ field: 'url', message: message.replace(/\.$/, '') }),
  ),
  rule(ReplayTooLargeError, ({ most, fits }) =>
    invalid({
      field: 'until',
      message: `leaves more than ${most} events to be looked at; replay in parts, the first of them until ${fits}`,
    }),
  ),
  rule(WebhookConflictError, ({ message }) => new Problem('conflict', message)),
  rule(UpstreamStatusError, upstreamStatus),
  rule(UpstreamUnavailableError, (cause) =>
    upstreamUnavailable(
      'The messaging service is down, or lets this account in no more: see GET /v1/status.',
      UPSTREAM_RETRY_MS,
      cause,
    ),
  ),
  rule(UpstreamUnreachableError, (cause) =>
    upstreamUnavailable('The messaging service cannot be reached.', UPSTREAM_RETRY_MS, cause),
  ),
  rule(UpstreamTimeoutError, (cause) => new Problem('upstream_timeout', sentence(cause.message), { cause })),
  rule(
    UpstreamConnectionLostError,
    (cause) => new Problem('upstream_error', sentence(cause.message), { cause }),
  ),
  rule(UpstreamIsGatewayError, (cause) => new Problem('upstream_error', sentence(cause.message), { cause })),
  rule(UpstreamReplyError, (cause) => new Problem('upstream_error', sentence(cause.message), { cause })),
  rule(BudgetExhaustedError, (cause) =>
    upstreamUnavailable(
      'The budget of requests to the messaging service is used up for the moment.',
      cause.retryAfterMs,
      cause,
    ),
  ),
  rule(HttpException, fastifyProblem),
  {
    claims: isBrokenBody,
    problem: (cause) => new Problem('malformed_body', 'The body broke off.', { cause }),
  },
  { claims: isStoreFault, problem: unavailable },
];

/** The problem that an error is answered with; `internal` for one that nobody thought of. */
export function problemOf(error: unknown): Problem {
  const found = RULES.find(({ claims }) => claims(error));
  if (found !== undefined) return found.problem(error);
  return new Problem('internal', 'Something went wrong here; it is logged under the requestId.', {
    cause: error,
  });
}

function upstreamStatus(error: UpstreamStatusError): Problem {
  if (LATER.has(error.status)) {
    return upstreamUnavailable(
      `The messaging service answered ${error.status}.`,
      error.retryAfterMs ?? UPSTREAM_RETRY_MS,
      error,
    );
  }
  return new Problem('upstream_error', `The messaging service answered ${error.status}.`, { cause: error });
}

function upstreamUnavailable(detail: string, retryMs: number, cause: Error): Problem {
  return new Problem('upstream_unavailable', detail, { headers: retryAfter(retryMs), cause });
}

function sentence(words: string): string {
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}.`;
}
