import { HttpException } from '@nestjs/common';
import { AccountConflictError, UpstreamApiKeyRequiredError } from '#accounts';
import { CursorExpiredError } from '#events';
import { BlobStoreUnavailableError, BlobTooLargeError } from '#blobs';
import {
  IdempotentRequestInProgressError,
  IdempotencyKeyReusedError,
  SendNotCancellableError,
  SendNotResolvableError,
  SendQuotaExceededError,
} from '#relay';
import {
  BudgetExhaustedError,
  UpstreamConnectionLostError,
  UpstreamIsTidingsError,
  UpstreamReplyUnreadableError,
  UpstreamStatusError,
  UpstreamTimeoutError,
  UpstreamUnavailableError,
  UpstreamUnreachableError,
} from '#upstream';
import { ForbiddenDestinationError, ReplayTooLargeError, WebhookStateConflictError } from '#webhooks';
import { fastifyProblem, isBrokenBody } from './fastify-problem.js';
import { internal, invalid, Problem, retryAfter, unavailable } from './problem.js';
import { isStoreFault } from './store-fault.js';

/** Value of `Retry-After` where upstream gave none, in milliseconds. */
const UPSTREAM_RETRY_MS = 5_000;

/** Value of `Retry-After` if a caller has too many unfinished sends, in milliseconds. */
const QUOTA_RETRY_MS = 60_000;

/** Statuses with which upstream asks for a later retry. */
const RETRYABLE_STATUSES = new Set([429, 503]);

interface Rule {
  /** True if this rule converts the error. */
  matches: (error: unknown) => boolean;
  problem: (error: unknown) => Problem;
}

function rule<E extends Error>(
  type: abstract new (...args: never[]) => E,
  problem: (error: E) => Problem,
): Rule {
  return {
    matches: (error) => error instanceof type,
    problem: (error) => problem(error as E),
  };
}

/** Maps every domain error to its problem. The first rule that matches an error converts it. */
const RULES: readonly Rule[] = [
  rule(Problem, (error) => error),
  rule(BlobTooLargeError, ({ limit }) => {
    const errors = [{ field: 'file', message: `must be a file of at most ${limit} bytes` }];
    return new Problem('payload_too_large', `The file must have at most ${limit} bytes.`, { errors });
  }),
  rule(BlobStoreUnavailableError, unavailable),
  rule(
    IdempotentRequestInProgressError,
    ({ message }) => new Problem('idempotency_in_progress', message, { headers: retryAfter(1_000) }),
  ),
  rule(IdempotencyKeyReusedError, ({ message }) => new Problem('idempotency_key_reused', message)),
  rule(
    SendQuotaExceededError,
    ({ maxUnfinished }) =>
      new Problem(
        'rate_limited',
        `The tokens of the API key for these contacts together have reached their limit of ${maxUnfinished} sends that are scheduled, queued or relaying. Cancel some of these sends, or retry later.`,
        { headers: retryAfter(QUOTA_RETRY_MS) },
      ),
  ),
  rule(SendNotCancellableError, ({ message }) => new Problem('conflict', message)),
  rule(SendNotResolvableError, ({ message }) => new Problem('conflict', message)),
  rule(AccountConflictError, ({ message }) => new Problem('conflict', message)),
  rule(UpstreamApiKeyRequiredError, ({ message }) => invalid({ field: 'apiKey', message })),
  rule(CursorExpiredError, ({ message }) => new Problem('cursor_expired', message)),
  rule(ForbiddenDestinationError, ({ reason }) =>
    invalid({ field: 'url', message: `is refused: ${reason}` }),
  ),
  rule(ReplayTooLargeError, ({ maxEvents, maxUntil }) =>
    invalid({
      field: 'until',
      message: `must be closer to \`since\`, because one replay covers at most ${maxEvents} events; use several replays, and set \`until\` to ${maxUntil} in the first one`,
    }),
  ),
  rule(WebhookStateConflictError, ({ message }) => new Problem('conflict', message)),
  rule(UpstreamStatusError, upstreamStatus),
  rule(UpstreamUnavailableError, (cause) =>
    upstreamUnavailable(
      'The messaging service is unavailable for this account. GET /v1/status shows the reason.',
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
  rule(UpstreamIsTidingsError, (cause) => new Problem('upstream_error', sentence(cause.message), { cause })),
  rule(
    UpstreamReplyUnreadableError,
    (cause) => new Problem('upstream_error', sentence(cause.message), { cause }),
  ),
  rule(BudgetExhaustedError, (cause) =>
    upstreamUnavailable(
      'The requests per second that the account may make to the messaging service are used up. Retry later.',
      cause.retryAfterMs,
      cause,
    ),
  ),
  rule(HttpException, fastifyProblem),
  {
    matches: isBrokenBody,
    problem: (cause) =>
      new Problem('malformed_body', 'The connection closed before the request body was complete.', { cause }),
  },
  { matches: isStoreFault, problem: unavailable },
];

/** Returns the problem that answers an error. The code is `internal` if no rule matches the error. */
export function problemOf(error: unknown): Problem {
  const found = RULES.find(({ matches }) => matches(error));
  return found === undefined ? internal(error) : found.problem(error);
}

function upstreamStatus(error: UpstreamStatusError): Problem {
  if (RETRYABLE_STATUSES.has(error.status)) {
    return upstreamUnavailable(
      `The messaging service returned HTTP ${error.status}.`,
      error.retryAfterMs ?? UPSTREAM_RETRY_MS,
      error,
    );
  }
  return new Problem('upstream_error', `The messaging service returned HTTP ${error.status}.`, {
    cause: error,
  });
}

function upstreamUnavailable(detail: string, retryMs: number, cause: Error): Problem {
  return new Problem('upstream_unavailable', detail, { headers: retryAfter(retryMs), cause });
}

/** Turns an error message into a sentence: with a capital letter first and a full stop last. */
function sentence(message: string): string {
  return `${message.charAt(0).toUpperCase()}${message.slice(1)}.`;
}
