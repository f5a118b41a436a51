import { parseRetryAfter } from '#platform';

/** What came of one attempt, as far as it decides what happens next. */
export interface AttemptOutcome {
  /** Null where no complete reply came. */
  statusCode: number | null;
  /** The reply's `Retry-After`, if it had one. */
  retryAfter: string | null;
  /** Why the exchange failed although a status came, or instead of one; null where it was complete. */
  error: string | null;
}

/** What an attempt says of its endpoint, besides what becomes of the delivery. */
export interface Strain {
  /** Whether fewer requests at once, and then pauses, are asked for. */
  slower: boolean;
  /** For how long nothing at all should be tried there, in ms. */
  aloneMs: number;
}

/** What happens to a delivery after an attempt. */
export type Decision =
  | { kind: 'succeeded' }
  | { kind: 'retry'; waitMs: number }
  | { kind: 'failed'; reason: string }
  /** The receiver asked for no more: the endpoint is disabled, and the delivery has failed. */
  | { kind: 'gone'; reason: string };

export interface RetryPolicy {
  /** The waits after the first, second, … attempt. */
  scheduleSeconds: readonly number[];
  /** A number from 0 up to 1, evenly spread; spreads the waits by ±20 %. */
  random: () => number;
}

const JITTER = 0.2;
const GONE = 410;
const TOO_MANY_REQUESTS = 429;
const OVERRUN: ReadonlySet<number | null> = new Set([TOO_MANY_REQUESTS, 502, 504]);
const LONGEST_ALONE_MS = 3_600_000;
/** The statuses whose `Retry-After` is kept. */
const ASKS_FOR_PATIENCE: ReadonlySet<number | null> = new Set([429, 503]);

/**
 * Decides after attempt number `attempt` (the first is 1).
 * @param now milliseconds since 1970: a `Retry-After` may be a date
 */
export function decide(policy: RetryPolicy, attempt: number, outcome: AttemptOutcome, now: number): Decision {
  const { statusCode, error } = outcome;
  if (statusCode === GONE) {
    return { kind: 'gone', reason: 'The receiver answered 410 Gone: it wants no more events.' };
  }
  if (error === null && statusCode !== null && statusCode >= 200 && statusCode < 300) {
    return { kind: 'succeeded' };
  }
  const seconds = policy.scheduleSeconds[attempt - 1];
  if (seconds === undefined) {
    return { kind: 'failed', reason: `The last of ${attempt} attempts failed: ${describe(outcome)}.` };
  }
  const scheduled = seconds * 1000 * (1 + JITTER * (2 * policy.random() - 1));
  const asked = ASKS_FOR_PATIENCE.has(statusCode) ? askedWait(outcome, now) : 0;
  return { kind: 'retry', waitMs: Math.round(Math.max(scheduled, asked)) };
}

/**
 * What an outcome says of its endpoint. 429, 502 and 504 mean that it or what stands before it is overrun. A 429's
 * `Retry-After` is meant for everything that we send, so that the endpoint is left alone for that long, but for an hour
 * at most: one mistaken reply must not silence it for a day.
 * @param now milliseconds since 1970
 */
export function strainOf(outcome: AttemptOutcome, now: number): Strain {
  const { statusCode } = outcome;
  const asked = statusCode === TOO_MANY_REQUESTS ? askedWait(outcome, now) : 0;
  return { slower: OVERRUN.has(statusCode), aloneMs: Math.min(asked, LONGEST_ALONE_MS) };
}

/** How long a reply asks to wait, in milliseconds; 0 if it does not. */
function askedWait({ retryAfter }: AttemptOutcome, now: number): number {
  return parseRetryAfter(retryAfter ?? undefined, now) ?? 0;
}

function describe({ statusCode, error }: AttemptOutcome): string {
  return error ?? `status ${String(statusCode)}`;
}
