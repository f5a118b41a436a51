/** A message of a contact: its time in milliseconds from the start, and the index of the contact. */
export interface WrittenMessage {
  readonly at: number;
  readonly contact: number;
}

/** Returns random numbers from 0 (inclusive) to 1 (exclusive). */
export type Random = () => number;

/** A random number generator (mulberry32). The same seed gives the same numbers. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** Returns random ranks from 0 with a probability proportional to 1 / (rank + 1) ** s. */
export function zipf(count: number, s: number, random: Random): () => number {
  const sums: number[] = [];
  let total = 0;
  for (let rank = 1; rank <= count; rank += 1) sums.push((total += rank ** -s));
  return () => {
    const drawn = random() * total;
    const rank = sums.findIndex((sum) => drawn < sum);
    return rank === -1 ? count - 1 : rank;
  };
}

/** The numbers from 0 to count - 1 in random order. */
export function shuffled(count: number, random: Random): number[] {
  const order = Array.from({ length: count }, (_, i) => i);
  for (let i = count - 1; i > 0; i -= 1) {
    const j = Math.floor(random() * (i + 1));
    [order[i], order[j]] = [order[j] ?? 0, order[i] ?? 0];
  }
  return order;
}

/** An exponentially distributed random number. */
function exponential(mean: number, random: Random): number {
  return -mean * Math.log(1 - random());
}

export interface UnevenPlan {
  contacts: number;
  /** Number of active contacts. Their activity has a Zipf distribution (s = 1). */
  activeContacts: number;
  /** Share of all messages from active contacts. The other contacts write the rest evenly. */
  activeShare: number;
  perSecond: number;
  durationMs: number;
  seed: number;
}

/** Traffic in which a few contacts write most messages, at random times. */
export function unevenTraffic(plan: UnevenPlan): WrittenMessage[] {
  const random = seededRandom(plan.seed);
  const who = shuffled(plan.contacts, random);
  const talker = zipf(plan.activeContacts, 1, random);
  const others = plan.contacts - plan.activeContacts;
  const written: WrittenMessage[] = [];
  for (let at = 0; ;) {
    at += exponential(1_000 / plan.perSecond, random);
    if (at >= plan.durationMs) return written;
    const rank = random() < plan.activeShare ? talker() : plan.activeContacts + Math.floor(random() * others);
    written.push({ at, contact: who[rank] ?? 0 });
  }
}

export interface ConversationPlan {
  contacts: number;
  /** Number of conversations that start per second. Their contacts have a Zipf distribution (s = 1). */
  conversationsPerSecond: number;
  /** Mean number of messages per conversation: geometrically distributed, at least one. */
  messages: number;
  /** Mean time between two messages of a conversation: exponentially distributed. */
  gapMs: number;
  durationMs: number;
  /** Conversations start this long before the trace, so that a typical number is active at its start. */
  runInMs: number;
  seed: number;
}

/** Traffic in which contacts have occasional conversations, in order of time. */
export function conversationTraffic(plan: ConversationPlan): WrittenMessage[] {
  const random = seededRandom(plan.seed);
  const who = shuffled(plan.contacts, random);
  const starter = zipf(plan.contacts, 1, random);
  const written: WrittenMessage[] = [];
  for (let begins = -plan.runInMs; begins < plan.durationMs;) {
    begins += exponential(1_000 / plan.conversationsPerSecond, random);
    const contact = who[starter()] ?? 0;
    for (let at = begins; at < plan.durationMs; at += exponential(plan.gapMs, random)) {
      if (at >= 0) written.push({ at, contact });
      if (random() < 1 / plan.messages) break;
    }
  }
  return written.sort((a, b) => a.at - b.at);
}

/**
 * The detection delay of each message in a plain loop, which reads one contact after another with one request each, at
 * an even pace.
 * @param perSecond requests per second
 */
export function uniformDelays(
  written: readonly WrittenMessage[],
  contacts: number,
  perSecond: number,
): number[] {
  const round = (contacts / perSecond) * 1_000;
  return written.map(({ at, contact }) => {
    const phase = (contact / contacts) * round;
    return (((phase - at) % round) + round) % round;
  });
}

/** Statistics of delays, in milliseconds. */
export interface DelayFigures {
  count: number;
  mean: number;
  p50: number;
  p95: number;
  p99: number;
  max: number;
}

export function figuresOf(delays: readonly number[]): DelayFigures {
  const sorted = [...delays].sort((a, b) => a - b);
  const at = (share: number): number =>
    Math.round(sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? NaN);
  return {
    count: sorted.length,
    mean: Math.round(sorted.reduce((sum, delay) => sum + delay, 0) / sorted.length),
    p50: at(0.5),
    p95: at(0.95),
    p99: at(0.99),
    max: Math.round(sorted.at(-1) ?? NaN),
  };
}
