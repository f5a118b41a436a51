/**
 * Estimate of how often one contact changes. Conversations begin at a slow rate, which is learned over days. Within a
 * conversation, messages follow at a pace that is learned from message to message.
 *
 * A read without new messages leaves the state unchanged: the rate falls with time alone. All times are in milliseconds
 * since 1970, by the reader's clock.
 */
export interface RateState {
  /** Time of the last message. All other values refer to this time. */
  at: number;
  /** Number of conversations begun, decayed over days. */
  starts: number;
  /** Number of messages that continued a conversation, decayed like {@link starts}. */
  follows: number;
  /** Time that the contact has been observed, decayed like {@link starts}; in milliseconds. */
  watchedMs: number;
  /** Number of gaps between messages of a conversation; older gaps weigh less. */
  gaps: number;
  /** Sum of these gaps with the same weights, in milliseconds. */
  gapsMs: number;
  /** Time of the last send to the contact; absent if that was long ago. */
  expectedAt?: number;
}

/** Result of one read of a contact. */
export interface ReadFindings {
  /** Number of messages that were not known before. Changed flags and fields do not count. */
  arrivals: number;
  /** Time of the read. */
  at: number;
  /** Time of the previous read, if any: a message without a timestamp arrived after it. */
  since?: number;
  /** Known timestamps of the new messages, converted to the reader's clock. */
  times?: readonly number[];
}

/** Half-life of the counts of conversations, in milliseconds. */
const HALF_LIFE_MS = 2 * 86_400_000;
/** Observed time assumed for an unknown contact (Bayesian prior), in milliseconds. */
const PRIOR_WATCHED_MS = 86_400_000;
/** Number of conversations assumed for an unknown contact (Bayesian prior). Low: most contacts are silent for weeks. */
const PRIOR_STARTS = 0.2;
/**
 * Discount for small numbers of conversations. Few contacts have most conversations, so one observed conversation is mostly
 * chance, while ten are not.
 */
const DISCOUNT = 2;
/** Number of continuing messages and of ended conversations assumed for an unknown contact (Bayesian prior). */
const PRIOR_FOLLOWS = 4;
const PRIOR_ENDS = 0.5;
/** Number of gaps between messages, and their sum in milliseconds, assumed for a new conversation (Bayesian prior). */
const PRIOR_GAPS = 0.6;
const PRIOR_GAPS_MS = 20_000;
/** Factor by which the weight of a gap between messages shrinks with each later message. */
const GAP_MEMORY = 0.95;
/** Expected changes per second right after a send: the send's message, its flags, perhaps a reply. */
const EXPECTED_PER_SECOND = 0.2;
/** Time after a send in which the expected rate of changes falls to a quarter, in milliseconds. */
const EXPECTED_MS = 30_000;
const EXPECTED_ENDS_MS = 20 * EXPECTED_MS;
/** Maximum number of messages of one read that count; the latest ones count. */
const MAX_ARRIVALS = 50;

/** Returns the state after a read; the same object if the read changed nothing. */
export function recordRead(state: RateState | undefined, findings: ReadFindings): RateState {
  let next = state ?? unknownAt(findings.since ?? findings.at);
  for (const time of arrivalTimes(state, findings)) next = addMessage(next, time);
  return withoutOldExpectation(next, findings.at);
}

/** Returns the state of a contact after a send to this contact was relayed at the time `at`. */
export function expectReply(state: RateState | undefined, at: number): RateState {
  return { ...(state ?? unknownAt(at)), expectedAt: at };
}

/** Returns the expected rate of new messages from now on, in messages per second, right after a read without news. */
export function rateOf(state: RateState | undefined, at: number): number {
  const known = state ?? unknownAt(at);
  const age = Math.max(at - known.at, 0);
  return startsPerMs(known, age) * 1000 + followsPerMs(known, age) * 1000 + expectedPerSecond(known, at);
}

/** Returns the state of a contact that was never read: whether the contact is in a conversation is unknown. */
function unknownAt(at: number): RateState {
  return { at, starts: 0, follows: 0, watchedMs: 0, gaps: 0, gapsMs: 0 };
}

function decayAfter(ageMs: number): number {
  return 0.5 ** (ageMs / HALF_LIFE_MS);
}

function watchedAfter(state: RateState, age: number): number {
  const left = decayAfter(age);
  return state.watchedMs * left + (HALF_LIFE_MS / Math.LN2) * (1 - left);
}

function startsPerMs(state: RateState, age: number): number {
  const starts = state.starts * decayAfter(age);
  const counted = (starts * starts) / (starts + DISCOUNT);
  return (counted + PRIOR_STARTS) / (watchedAfter(state, age) + PRIOR_WATCHED_MS);
}

/**
 * Returns the rate of messages that continue the conversation. The pace is estimated from few gaps, so the time to the next
 * message has a Pareto (Lomax) distribution: the longer the silence, the slower the conversation may have been all along.
 */
function followsPerMs(state: RateState, age: number): number {
  return (continueProbability(state, age) * (state.gaps + PRIOR_GAPS)) / (state.gapsMs + PRIOR_GAPS_MS + age);
}

/** Returns the probability that the conversation of the last message continues after this silence. */
function continueProbability(state: RateState, age: number): number {
  // Without any message there is no conversation that could continue.
  const messagesSeen = Math.min(state.starts + state.follows, 1);
  const follows = state.follows + PRIOR_FOLLOWS;
  const ends = state.starts + PRIOR_ENDS;
  const gapsMs = state.gapsMs + PRIOR_GAPS_MS;
  const silent = (gapsMs / (gapsMs + age)) ** (state.gaps + PRIOR_GAPS);
  return (messagesSeen * follows * silent) / (follows * silent + ends);
}

function expectedPerSecond({ expectedAt }: RateState, at: number): number {
  if (expectedAt === undefined || at - expectedAt > EXPECTED_ENDS_MS) return 0;
  return EXPECTED_PER_SECOND / (1 + Math.max(at - expectedAt, 0) / EXPECTED_MS) ** 2;
}

/** Adds one message: it counts partly as continuing the conversation and partly as starting one. */
function addMessage(state: RateState, time: number): RateState {
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

/** Returns the arrival times in ascending order. Messages without a timestamp are spread evenly over the possible time. */
function arrivalTimes(state: RateState | undefined, findings: ReadFindings): number[] {
  const { at, arrivals } = findings;
  const since = Math.min(Math.max(findings.since ?? at, state?.at ?? 0), at);
  const times = (findings.times ?? [])
    .filter((time) => Number.isFinite(time))
    .slice(-MAX_ARRIVALS)
    .map((time) => Math.min(Math.max(time, since), at));
  const untimed = Math.min(Math.max(arrivals - times.length, 0), MAX_ARRIVALS);
  for (let n = 0; n < untimed; n += 1) times.push(since + ((n + 0.5) / untimed) * (at - since));
  return times.sort((a, b) => a - b).slice(-MAX_ARRIVALS);
}

function withoutOldExpectation(state: RateState, at: number): RateState {
  if (state.expectedAt === undefined || at - state.expectedAt <= EXPECTED_ENDS_MS) return state;
  const next = { ...state };
  delete next.expectedAt;
  return next;
}
