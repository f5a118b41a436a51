import {
  UpstreamConnectionLostError,
  UpstreamIsGatewayError,
  UpstreamReplyError,
  UpstreamStatusError,
  UpstreamTimeoutError,
  UpstreamUnreachableError,
} from '#upstream';
import type { AttemptOutcome } from '../send/send.js';

/** What an attempt came to, and what upstream asked for. */
export interface AttemptResult {
  outcome: AttemptOutcome;
  httpStatus?: number;
  error?: string;
  /** The error as it may be logged: without upstream's own words. */
  fault?: string;
  /** How long upstream asks to wait, in milliseconds. */
  retryAfterMs?: number;
}

/** Statuses with which upstream says that this send is not to be had, now or later. */
const REFUSALS = new Set([400, 403, 404, 413, 415, 422]);
/** The key is wrong: surely not taken, and another try may be fine once the key is right. */
const UNAUTHENTICATED = 401;

/**
 * What the error of a POST means. Only what surely did not reach upstream's queue may be tried again; whatever is not
 * known to be harmless is ambiguous.
 */
export function outcomeOf(error: unknown, safeStatuses: readonly number[]): AttemptResult {
  const words = error instanceof Error ? error.message : 'unknown error';
  if (error instanceof UpstreamUnreachableError) return { outcome: 'not_taken', error: words };
  if (error instanceof UpstreamIsGatewayError)
    return { outcome: error.mayBeTaken ? 'ambiguous' : 'not_taken', error: words };
  if (error instanceof UpstreamStatusError) {
    const { status, retryAfterMs } = error;
    const outcome = outcomeOfStatus(status, safeStatuses);
    return {
      outcome,
      httpStatus: status,
      error: words,
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    };
  }
  if (
    error instanceof UpstreamTimeoutError ||
    error instanceof UpstreamConnectionLostError ||
    error instanceof UpstreamReplyError
  ) {
    return { outcome: 'ambiguous', error: words };
  }
  throw error;
}

function outcomeOfStatus(status: number, safeStatuses: readonly number[]): AttemptOutcome {
  if (safeStatuses.includes(status) || status === UNAUTHENTICATED) return 'not_taken';
  return REFUSALS.has(status) ? 'refused' : 'ambiguous';
}

/**
 * How long to wait before the next attempt, in milliseconds: the schedule's wait after so many refusals, its last one
 * from then on, with up to a fifth more so that lanes do not march in step; never less than upstream asked for.
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
