/** One message that a contact writes: when, in milliseconds from the beginning, and who, as an index. */
export interface Written {
  readonly at: number;
  readonly contact: number;
}

/** Draws from 0 up to, not including, 1. */
export type Random = () => number;

/** The same seed gives the same draws (mulberry32). */
export function seeded(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** Draws ranks from 0 with a probability proportional to 1 / (rank + 1) ** s. */
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

/** The numbers from 0 up in a random order. */
export function shuffled(count: number, random: Random): number[] {
  const order = Array.from({ length: count }, (_, i) => i);
  for (let i = count - 1; i > 0; i -= 1) {
    const j = Math.floor(random() * (i + 1));
    [order[i], order[j]] = [order[j] ?? 0, order[i] ?? 0];
  }
  return order;
}

/** Exponentially distributed. */
function exponential(mean: number, random: Random): number {
  return -mean * Math.log(1 - random());
}

export interface UnevenPlan {
  contacts: number;
  /** How many of them are in conversation all the time, unevenly (Zipf, s = 1)… */
  talkers: number;
  /** …and write this share of all messages; the others write the rest, evenly. */
  share: number;
  perSecond: number;
  durationMs: number;
  seed: number;
}

/** A few contacts write nearly everything, at random instants. */
export function unevenTraffic(plan: UnevenPlan): Written[] {
  const random = seeded(plan.seed);
  const who = shuffled(plan.contacts, random);
  const talker = zipf(plan.talkers, 1, random);
  const others = plan.contacts - plan.talkers;
  const written: Written[] = [];
  for (let at = 0; ;) {
    at += exponential(1_000 / plan.perSecond, random);
    if (at >= plan.durationMs) return written;
    const rank = random() < plan.share ? talker() : plan.talkers + Math.floor(random() * others);
    written.push({ at, contact: who[rank] ?? 0 });
  }
}

export interface ConversationPlan {
  contacts: number;
  /** Conversations that begin in a second, over all contacts, which are drawn by Zipf (s = 1). */
  conversationsPerSecond: number;
  /** Messages of a conversation on average: geometrically distributed, at least one. */
  messages: number;
  /** Between two messages of a conversation on average: exponentially distributed. */
  gapMs: number;
  durationMs: number;
  /** Conversations begin so long before: at the beginning of the trace the usual number of them is under way. */
  runInMs: number;
  seed: number;
}

/** Contacts have conversations now and then; in the order of time. */
export function conversationTraffic(plan: ConversationPlan): Written[] {
  const random = seeded(plan.seed);
  const who = shuffled(plan.contacts, random);
  const starter = zipf(plan.contacts, 1, random);
  const written: Written[] = [];
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
 * How late a plain loop notices each message: it reads one contact after another, each with one request at an even pace.
 * @param perSecond requests
 */
export function uniformDelays(written: readonly Written[], contacts: number, perSecond: number): number[] {
  const round = (contacts / perSecond) * 1_000;
  return written.map(({ at, contact }) => {
    const phase = (contact / contacts) * round;
    return (((phase - at) % round) + round) % round;
  });
}

/** Of some delays, in milliseconds. */
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
