import {
  UpstreamConnectionLostError,
  UpstreamIsGatewayError,
  UpstreamReplyError,
  UpstreamStatusError,
  UpstreamTimeoutError,
  UpstreamUnreachableError,
} from '#upstream';
import type { AttemptOutcome } from '../send/send.js';

/** The result of one POST. */
export interface AttemptResult {
  outcome: AttemptOutcome;
  httpStatus?: number;
  error?: string;
  /** The error for the log, without upstream's own words. */
  fault?: string;
  /** Wait that upstream requests before the next attempt, in milliseconds. */
  retryAfterMs?: number;
}

/** Statuses that refuse a send for good. */
const REFUSALS = new Set([400, 403, 404, 413, 415, 422]);
/** Upstream rejected the API key. Upstream did not accept the send, and a retry may succeed with the right key. */
const UNAUTHENTICATED = 401;

/**
 * Classifies the error of a POST. An error that rules out acceptance allows a retry; every other error is
 * ambiguous, unless upstream refused the send.
 * @throws the given error if it is not an error of an upstream request
 */
export function classifyPostError(error: unknown, safeStatuses: readonly number[]): AttemptResult {
  const message = error instanceof Error ? error.message : 'unknown error';
  if (error instanceof UpstreamUnreachableError) return { outcome: 'not_taken', error: message };
  if (error instanceof UpstreamIsGatewayError)
    return { outcome: error.mayBeProcessed ? 'ambiguous' : 'not_taken', error: message };
  if (error instanceof UpstreamStatusError) {
    const { status, retryAfterMs } = error;
    const outcome = outcomeOfStatus(status, safeStatuses);
    return {
      outcome,
      httpStatus: status,
      error: message,
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    };
  }
  if (
    error instanceof UpstreamTimeoutError ||
    error instanceof UpstreamConnectionLostError ||
    error instanceof UpstreamReplyError
  ) {
    return { outcome: 'ambiguous', error: message };
  }
  throw error;
}

function outcomeOfStatus(status: number, safeStatuses: readonly number[]): AttemptOutcome {
  if (safeStatuses.includes(status) || status === UNAUTHENTICATED) return 'not_taken';
  return REFUSALS.has(status) ? 'refused' : 'ambiguous';
}

/**
 * Returns the wait before the next attempt, in milliseconds. The wait is the schedule's entry for this number of
 * refusals (or its last entry), plus up to a fifth as jitter, and at least the wait that upstream requested.
 * @param random from 0 to 1
 */
export function retryWaitMs(
  scheduleSeconds: readonly number[],
  refusals: number,
  retryAfterMs: number | undefined,
  random: number,
): number {
  const seconds = scheduleSeconds[Math.min(refusals, scheduleSeconds.length - 1)] ?? 0;
  return Math.max(seconds * 1000 * (1 + random / 5), retryAfterMs ?? 0);
}
