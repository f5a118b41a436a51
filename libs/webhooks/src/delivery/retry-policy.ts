import { parseRetryAfter } from '#platform';

/** The part of an attempt's outcome that determines what happens next. */
export interface AttemptOutcome {
  /** HTTP status of the reply, or null if no status arrived. */
  statusCode: number | null;
  /** The reply's `Retry-After` header, or null if absent. */
  retryAfter: string | null;
  /**
   * Why the request failed. Null if the whole reply arrived, or at least the first 1,024 bytes of its body.
   * A request can also fail after its status arrived.
   */
  error: string | null;
}

/** How an attempt's outcome slows down further requests to the endpoint. */
export interface Throttling {
  /**
   * True if the endpoint is overloaded. The limit of requests in flight is then halved. If the limit is already one,
   * requests pause.
   */
  slowsDown: boolean;
  /**
   * Pause of all requests to the endpoint that the receiver requested by the `Retry-After` of a 429 reply, in
   * milliseconds; at most one hour. 0 if it requested none.
   */
  pauseMs: number;
}

/** What happens to a delivery after an attempt. */
export type DeliveryDecision =
  | { kind: 'succeeded' }
  /**
   * `waitMs`: wait before the next attempt, in milliseconds. `requestedMs`: wait that the receiver requested by
   * `Retry-After`, in milliseconds; at most `waitMs`. If the receiver recovers, the retry may come before
   * `waitMs` has passed, but not before `requestedMs` has passed.
   */
  | { kind: 'retry'; waitMs: number; requestedMs?: number }
  | { kind: 'failed'; reason: string }
  /** The receiver answered 410: the delivery fails and the endpoint is disabled. */
  | { kind: 'gone'; reason: string };

/** Determines when a delivery is attempted again after a failed attempt. */
export interface RetryPolicy {
  /** Time to wait after the first, second, … failed attempt, in seconds. */
  scheduleSeconds: readonly number[];
  /** Returns a random number from 0 (inclusive) to 1 (exclusive), used to vary each wait by up to ±20 %. */
  random: () => number;
}

const JITTER = 0.2;
const GONE = 410;
const TOO_MANY_REQUESTS = 429;
/** HTTP statuses that mean that the endpoint, or a proxy in front of it, is overloaded. */
const OVERLOADED: ReadonlySet<number | null> = new Set([TOO_MANY_REQUESTS, 502, 504]);
/** Max pause that one reply can impose on an endpoint, in milliseconds. */
const MAX_PAUSE_MS = 3_600_000;
/** HTTP statuses of replies whose `Retry-After` header is respected. */
const OBEYS_RETRY_AFTER: ReadonlySet<number | null> = new Set([429, 503]);

/**
 * Decides what happens to a delivery after an attempt.
 * @param attempt number of the attempt, counted from 1
 * @param now current time in milliseconds since 1970; needed if `Retry-After` is a date
 */
export function decideNextDeliveryStep(
  policy: RetryPolicy,
  attempt: number,
  outcome: AttemptOutcome,
  now: number,
): DeliveryDecision {
  const { statusCode, error } = outcome;
  if (statusCode === GONE) {
    return { kind: 'gone', reason: 'The receiver answered 410 Gone, which disables the webhook.' };
  }
  if (error === null && statusCode !== null && statusCode >= 200 && statusCode < 300) {
    return { kind: 'succeeded' };
  }
  const seconds = policy.scheduleSeconds[attempt - 1];
  if (seconds === undefined) {
    return { kind: 'failed', reason: `Attempt ${attempt} of ${attempt} failed: ${describe(outcome)}.` };
  }
  const scheduled = seconds * 1000 * (1 + JITTER * (2 * policy.random() - 1));
  const requestedMs = OBEYS_RETRY_AFTER.has(statusCode) ? retryAfterMs(outcome, now) : 0;
  return {
    kind: 'retry',
    waitMs: Math.round(Math.max(scheduled, requestedMs)),
    ...(requestedMs > 0 ? { requestedMs: Math.round(requestedMs) } : {}),
  };
}

/**
 * Returns how an attempt's outcome slows down further requests to the endpoint. The statuses 429, 502 and 504 mean
 * overload. The `Retry-After` of a 429 reply pauses all deliveries to the endpoint, for one hour at most, so that one
 * wrong reply cannot stop the deliveries for a day.
 * @param now current time in milliseconds since 1970
 */
export function throttlingAfterAttempt(outcome: AttemptOutcome, now: number): Throttling {
  const { statusCode } = outcome;
  const asked = statusCode === TOO_MANY_REQUESTS ? retryAfterMs(outcome, now) : 0;
  return { slowsDown: OVERLOADED.has(statusCode), pauseMs: Math.min(asked, MAX_PAUSE_MS) };
}

/** Returns the wait that the reply's `Retry-After` header requests, in milliseconds, or 0 without a valid header. */
function retryAfterMs({ retryAfter }: AttemptOutcome, now: number): number {
  return parseRetryAfter(retryAfter ?? undefined, now) ?? 0;
}

function describe({ statusCode, error }: AttemptOutcome): string {
  return error ?? `status ${String(statusCode)}`;
}
