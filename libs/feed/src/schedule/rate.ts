/**
 * What is known of how often one contact changes. Conversations begin at a slow rate, which is learned over days; within
 * one, messages follow each other at a pace that is learned from message to message.
 *
 * A read that finds nothing new leaves it as it is: the passing of time alone lowers the rate. All times are in
 * milliseconds since 1970, on the reader's clock.
 */
export interface RateState {
  /** When the last message came; all other figures are right for this moment. */
  at: number;
  /** Conversations that began, decayed over days. */
  starts: number;
  /** Messages that followed another one of the same conversation, decayed like {@link starts}. */
  follows: number;
  /** For how long the contact has been watched, decayed like {@link starts}; in milliseconds. */
  watchedMs: number;
  /** Gaps between the latest messages of a conversation; each counts less with every newer one… */
  gaps: number;
  /** …and their sum, in milliseconds. */
  gapsMs: number;
  /** When a send was relayed to the contact last, if that was not long ago. */
  expectedAt?: number;
}

/** What one read of a contact found. */
export interface ReadFindings {
  /** Messages that were not known before. Changed flags and fields are no activity. */
  arrivals: number;
  /** When it was read. */
  at: number;
  /** When the contact was read before, if it was: what has no time of its own came after it. */
  since?: number;
  /** When messages of these were written, as far as upstream says so, with the difference between the clocks taken out. */
  times?: readonly number[];
}

/** After so long a conversation counts half as much for how often they begin. */
const HALF_LIFE_MS = 2 * 86_400_000;
/** A contact of which nothing is known is taken for one that had been watched so long… */
const PRIOR_WATCHED_MS = 86_400_000;
/** …and had begun so many conversations. Few: most contacts of an account are silent for weeks. */
const PRIOR_STARTS = 0.2;
/**
 * Few contacts have most of the conversations, so that one conversation seen is mostly chance, and ten are not: the
 * number of them is discounted, most where it is small.
 */
const DISCOUNT = 2;
/** A message is followed by another one of the same conversation this often, before the contact has shown its habit… */
const PRIOR_FOLLOWS = 4;
const PRIOR_ENDS = 0.5;
/** …after about so long. What is heard of the conversation itself soon outweighs it. */
const PRIOR_GAPS = 0.6;
const PRIOR_GAPS_MS = 20_000;
/** How much a gap counts for the pace after one more message. */
const GAP_MEMORY = 0.95;
/** After a send was relayed its message, its flags and perhaps an answer come: so many changes a second at first… */
const EXPECTED_PER_SECOND = 0.2;
/** …and a quarter of that after so long. */
const EXPECTED_MS = 30_000;
const EXPECTED_ENDS_MS = 20 * EXPECTED_MS;
/** Of more messages in one read than these only the latest ones count. */
const MAX_ARRIVALS = 50;

/** The state after a read. It is the same object where the read found nothing that counts. */
export function recordRead(state: RateState | undefined, findings: ReadFindings): RateState {
  let next = state ?? unknownAt(findings.since ?? findings.at);
  for (const time of arrivalTimes(state, findings)) next = arrive(next, time);
  return withoutOldExpectation(next, findings.at);
}

/** The state after a send was relayed to the contact. */
export function expectReply(state: RateState | undefined, at: number): RateState {
  return { ...(state ?? unknownAt(at)), expectedAt: at };
}

/**
 * New messages a second that are to be expected of the contact from now on, if a read has just shown that there are none
 * which are not known.
 */
export function rateOf(state: RateState | undefined, at: number): number {
  const known = state ?? unknownAt(at);
  const age = Math.max(at - known.at, 0);
  return startsPerMs(known, age) * 1000 + followsPerMs(known, age) * 1000 + expectedPerSecond(known, at);
}

/** Nobody has ever read it: an old conversation's end could not be told from its being silent. */
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
 * The pace of a conversation is not known but estimated from few gaps, so that the time to the next message has the long
 * tail of a Pareto (Lomax) distribution: the longer it is silent, the slower it may have been all along.
 */
function followsPerMs(state: RateState, age: number): number {
  return (goesOn(state, age) * (state.gaps + PRIOR_GAPS)) / (state.gapsMs + PRIOR_GAPS_MS + age);
}

/** How likely it is that the conversation of the last message goes on after this silence. */
function goesOn(state: RateState, age: number): number {
  // Nothing can go on where nothing was ever heard.
  const heard = Math.min(state.starts + state.follows, 1);
  const follows = state.follows + PRIOR_FOLLOWS;
  const ends = state.starts + PRIOR_ENDS;
  const gapsMs = state.gapsMs + PRIOR_GAPS_MS;
  const silent = (gapsMs / (gapsMs + age)) ** (state.gaps + PRIOR_GAPS);
  return (heard * follows * silent) / (follows * silent + ends);
}

function expectedPerSecond({ expectedAt }: RateState, at: number): number {
  if (expectedAt === undefined || at - expectedAt > EXPECTED_ENDS_MS) return 0;
  return EXPECTED_PER_SECOND / (1 + Math.max(at - expectedAt, 0) / EXPECTED_MS) ** 2;
}

/** One more message: either it goes on with the conversation, or it begins one; it counts as either in part. */
function arrive(state: RateState, time: number): RateState {
  const at = Math.max(time, state.at);
  const age = at - state.at;
  const same = goesOn(state, age);
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

/** When the messages came, in order. Those without a time are spread evenly over the time in which they may have come. */
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
