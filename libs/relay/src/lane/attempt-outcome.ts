import {
  UpstreamConnectionLostError,
  UpstreamIsTidingsError,
  UpstreamReplyUnreadableError,
  UpstreamStatusError,
  UpstreamTimeoutError,
  UpstreamUnreachableError,
} from '#upstream';
import type { AttemptOutcome } from '../send/send.js';

/** The result of one attempt to post a send to upstream. */
export interface AttemptResult {
  outcome: AttemptOutcome;
  httpStatus?: number;
  error?: string;
  /** The error for log lines. Contains no text from upstream's reply. */
  fault?: string;
  /** How long to wait before the next attempt according to upstream's reply (`Retry-After`), in milliseconds. */
  retryAfterMs?: number;
}

/** HTTP statuses with which upstream rejects a send permanently, except those in `RelaySettings.safeStatuses`. */
const REFUSALS = new Set([400, 403, 404, 413, 415, 422]);
/** HTTP status for a rejected API key. Upstream did not accept the send. A retry can succeed with a corrected key. */
const UNAUTHENTICATED = 401;

/**
 * Derives the outcome of a POST from its error. `not_taken`: upstream certainly did not accept the send, so the send
 * may be retried. `refused`: upstream rejected the send permanently. `ambiguous`: upstream may have accepted the
 * send.
 * @param safeStatuses HTTP statuses that mean that upstream did not accept the send
 * @throws the given error if it does not show how a POST ended
 */
export function classifyPostError(error: unknown, safeStatuses: readonly number[]): AttemptResult {
  const message = error instanceof Error ? error.message : 'unknown error';
  if (error instanceof UpstreamUnreachableError) return { outcome: 'not_taken', error: message };
  if (error instanceof UpstreamIsTidingsError)
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
    error instanceof UpstreamReplyUnreadableError
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
 * True if an outage may have caused this result of a POST: upstream was unreachable, answered 401 or 403, or was a
 * Tidings gateway that rejected the request.
 */
export function mayBeCausedByOutage({ outcome, httpStatus }: AttemptResult): boolean {
  if (httpStatus === 401 || httpStatus === 403) return true;
  return outcome === 'not_taken' && httpStatus === undefined;
}

/**
 * Returns the wait before a send's next attempt, in milliseconds. The wait is taken from the schedule and lengthened
 * at random by up to 20 %. It is at least the wait that upstream requested.
 * @param scheduleSeconds one wait per attempt, in seconds; the last wait repeats
 * @param refusals number of consecutive earlier attempts that upstream did not accept
 * @param random number from 0 to 1 that selects the random part
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
