/**
 * Data from which the message rate of one contact (new messages per second) is estimated. Messages come in bursts.
 * Bursts begin at a low rate, which is learned over days. The messages of a burst follow one another at a higher
 * rate, which is learned from message to message.
 *
 * The numbers and sums are weighted: an old observation counts less. A read without new messages does not change the
 * data, but the estimated rate falls as time passes. All times are in milliseconds since 1970, by Redis' clock.
 */
export interface MessageRateState {
  /**
   * When the contact's last message arrived, in milliseconds since 1970. For a contact without messages, when it was
   * first read.
   */
  at: number;
  /** Weighted number of bursts of messages so far. The weight of a burst halves every two days. */
  starts: number;
  /**
   * Weighted number of messages that continued a burst of messages. The weight of a message halves every two
   * days.
   */
  follows: number;
  /**
   * Weighted time for which the contact has been observed, in milliseconds. The weight of a past period halves every
   * two days.
   */
  watchedMs: number;
  /**
   * Weighted number of time gaps between successive messages of bursts. The gaps of all bursts count, but
   * older gaps have less weight.
   */
  gaps: number;
  /**
   * Weighted sum of the time gaps between successive messages of bursts, in milliseconds. The gaps of all
   * bursts count, but older gaps have less weight.
   */
  gapsMs: number;
}

/** What one read of a contact found. */
export interface ReadFindings {
  /**
   * Number of new messages that the read found. Known messages whose flags or fields changed do not count.
   */
  arrivals: number;
  /** When the read of the contact began, in milliseconds since 1970 by Redis' clock. */
  at: number;
  /**
   * When the contact was previously read, in milliseconds since 1970; absent at the first read. A new message
   * without a timestamp arrived after this time.
   */
  since?: number;
  /**
   * Timestamps of those new messages that have one, in milliseconds since 1970, converted from upstream's
   * clock to Redis' clock.
   */
  times?: readonly number[];
}

/** The weight of an observed message in the estimate of the message rate halves in this time, in milliseconds. */
const HALF_LIFE_MS = 2 * 86_400_000;
/**
 * Time for which a contact is assumed to have been observed before its first read (Bayesian prior), in
 * milliseconds.
 */
const PRIOR_WATCHED_MS = 86_400_000;
/**
 * Number of bursts of messages that a contact is assumed to have had before its first read (Bayesian prior). The
 * number is low, because most contacts are silent for weeks.
 */
const PRIOR_STARTS = 0.2;
/**
 * Reduces the influence of contacts with few bursts of messages: n bursts count as n² / (n + DISCOUNT). A single
 * burst may be chance, but ten bursts show that the contact writes often.
 */
const DISCOUNT = 2;
/**
 * `PRIOR_FOLLOWS` is the number of messages that continued a burst of messages, and `PRIOR_ENDS` is the number of
 * bursts that ended. Both are assumed for a contact before its first read (Bayesian prior).
 */
const PRIOR_FOLLOWS = 4;
const PRIOR_ENDS = 0.5;
/**
 * Bayesian prior for the time gaps between the messages of a burst: the number of the gaps, and their sum in
 * milliseconds. A burst is a quick succession of messages.
 */
const PRIOR_GAPS = 0.6;
const PRIOR_GAPS_MS = 20_000;
/** Factor by which the weight of a time gap between two messages shrinks with each later message. */
const GAP_MEMORY = 0.95;
/**
 * Maximum number of new messages of one read from which the rate is estimated. If there are more, the latest
 * ones are used.
 */
const MAX_ARRIVALS = 50;

/**
 * Returns the data about a contact's message rate after a read. If the read found no new message, returns
 * `state` itself, or the data of an unknown contact if `state` is undefined.
 */
export function messageRateStateAfterRead(
  state: MessageRateState | undefined,
  findings: ReadFindings,
): MessageRateState {
  let next = state ?? unknownAt(findings.since ?? findings.at);
  for (const time of arrivalTimes(state, findings)) next = addMessage(next, time);
  return next;
}

/**
 * Returns the expected message rate of a contact at a given time, in messages per second.
 * @param state undefined for a contact that was never read; the result is then a default rate, whatever `at` is
 * @param at the given time, in milliseconds since 1970 by Redis' clock
 */
export function expectedMessageRate(state: MessageRateState | undefined, at: number): number {
  const known = state ?? unknownAt(at);
  const age = Math.max(at - known.at, 0);
  return startsPerMs(known, age) * 1000 + followsPerMs(known, age) * 1000;
}

/** Returns the data for estimating the message rate of a contact that was never read. */
function unknownAt(at: number): MessageRateState {
  return { at, starts: 0, follows: 0, watchedMs: 0, gaps: 0, gapsMs: 0 };
}

function decayAfter(ageMs: number): number {
  return 0.5 ** (ageMs / HALF_LIFE_MS);
}

function watchedAfter(state: MessageRateState, age: number): number {
  const left = decayAfter(age);
  return state.watchedMs * left + (HALF_LIFE_MS / Math.LN2) * (1 - left);
}

function startsPerMs(state: MessageRateState, age: number): number {
  const starts = state.starts * decayAfter(age);
  const counted = (starts * starts) / (starts + DISCOUNT);
  return (counted + PRIOR_STARTS) / (watchedAfter(state, age) + PRIOR_WATCHED_MS);
}

/**
 * Returns the expected rate of messages that continue the current burst of messages, in messages per millisecond.
 * The longer the silence, the lower the rate: the pace of the burst is estimated from only a few time gaps, so a long
 * silence suggests that the burst is slower than estimated. (The time to the next message then has a Lomax
 * distribution.)
 * @param age time since the last message, in milliseconds
 */
function followsPerMs(state: MessageRateState, age: number): number {
  return (continueProbability(state, age) * (state.gaps + PRIOR_GAPS)) / (state.gapsMs + PRIOR_GAPS_MS + age);
}

/**
 * Returns the probability, from 0 to 1, that the current burst of messages continues although no message has
 * arrived for `age` milliseconds. The result is 0 for a contact without any message.
 */
function continueProbability(state: MessageRateState, age: number): number {
  const messagesSeen = Math.min(state.starts + state.follows, 1);
  const follows = state.follows + PRIOR_FOLLOWS;
  const ends = state.starts + PRIOR_ENDS;
  const gapsMs = state.gapsMs + PRIOR_GAPS_MS;
  const silent = (gapsMs / (gapsMs + age)) ** (state.gaps + PRIOR_GAPS);
  return (messagesSeen * follows * silent) / (follows * silent + ends);
}

/**
 * Adds one new message to the data about a contact's message rate. The message either continues a burst of messages
 * or starts a new one. It counts as both, each weighted with its probability.
 * @param time when the message arrived, in milliseconds since 1970
 */
function addMessage(state: MessageRateState, time: number): MessageRateState {
  const at = Math.max(time, state.at);
  const age = at - state.at;
  const same = continueProbability(state, age);
  const left = decayAfter(age);
  return {
    ...state,
    at,
    starts: state.starts * left + 1 - same,
    follows: state.follows * left + same,
    watchedMs: watchedAfter(state, age),
    gaps: state.gaps * GAP_MEMORY + same,
    gapsMs: state.gapsMs * GAP_MEMORY + same * age,
  };
}

/**
 * Returns the times at which the new messages of a read arrived, in ascending order. Messages without a
 * timestamp are spread evenly over the time since the previous read. Returns at most {@link MAX_ARRIVALS} times, the
 * latest ones.
 */
function arrivalTimes(state: MessageRateState | undefined, findings: ReadFindings): number[] {
  const { at, arrivals } = findings;
  const since = Math.min(Math.max(findings.since ?? at, state?.at ?? 0), at);
  const timed = (findings.times ?? []).filter((time) => Number.isFinite(time));
  const times = timed.slice(-MAX_ARRIVALS).map((time) => Math.min(Math.max(time, since), at));
  const untimed = Math.min(Math.max(arrivals - timed.length, 0), MAX_ARRIVALS);
  for (let n = 0; n < untimed; n += 1) times.push(since + ((n + 0.5) / untimed) * (at - since));
  return times.sort((a, b) => a - b).slice(-MAX_ARRIVALS);
}
