import { exponential, seededRandom, zipf } from './random.js';

/** A message and its conversation. Times are in seconds from the start of the trial. */
export interface Message {
  at: number;
  contact: number;
  /** Time of the last message of the conversation. */
  endsAt: number;
}

/** All messages of a trial. */
export interface Traffic {
  contacts: number;
  seconds: number;
  /** Messages in order of time. */
  messages: readonly Message[];
  /** Returns the true rate at which conversations of a contact begin, per second. */
  startsPerSecond(contact: number): number;
  /** Returns the true rate of messages within a conversation of a contact, per second. */
  followsPerSecond(contact: number): number;
}

/** Parameters of traffic that consists of conversations. */
export interface ConversationSettings {
  seed: number;
  contacts: number;
  seconds: number;
  /** Number of conversations that begin per second, over all contacts. */
  startsPerSecond: number;
  /** Exponent of the distribution over the contacts. 0 means evenly. */
  zipf: number;
  /** Average number of messages of a conversation. Geometrically distributed. */
  messages: number;
  /** Average time between two messages of a conversation. Exponentially distributed. */
  gapSeconds: number;
}

/** Generates traffic that consists of conversations. */
export function conversations(settings: ConversationSettings): Traffic {
  const { contacts, seconds, gapSeconds } = settings;
  const random = seededRandom(settings.seed);
  const draw = zipf(random, contacts, settings.zipf);
  const messages: Message[] = [];
  const continueProbability = 1 - 1 / settings.messages;
  for (
    let start = exponential(random, 1 / settings.startsPerSecond);
    start < seconds;
    start += exponential(random, 1 / settings.startsPerSecond)
  ) {
    const contact = draw();
    const times = [start];
    for (let at = start; random() < continueProbability; times.push(at))
      at += exponential(random, gapSeconds);
    const endsAt = times.at(-1) ?? start;
    for (const at of times) if (at < seconds) messages.push({ at, contact, endsAt });
  }
  const shares = sharesOf(contacts, settings.zipf);
  return {
    contacts,
    seconds,
    messages: inOrder(messages),
    startsPerSecond: (contact) => settings.startsPerSecond * (shares[contact] ?? 0),
    followsPerSecond: () => 1 / gapSeconds,
  };
}

/** Parameters of steady traffic. */
export interface SteadySettings {
  seed: number;
  contacts: number;
  seconds: number;
  /** Number of messages per second over all contacts. */
  perSecond: number;
  /** Number of contacts that are always in conversation. */
  busy: number;
  /** Share of all messages that belong to the busy contacts, from 0 to 1. */
  busyPart: number;
  /**
   * Exponent of the distribution over the busy contacts. The other messages are spread evenly over the other
   * contacts.
   */
  zipf: number;
}

/**
 * Generates steady traffic. The messages of each contact are a Poisson process: endless conversations, and
 * single messages.
 */
export function steady(settings: SteadySettings): Traffic {
  const { contacts, seconds, busy, busyPart, perSecond } = settings;
  const random = seededRandom(settings.seed);
  const shares = sharesOf(busy, settings.zipf);
  const rate = (contact: number): number =>
    contact < busy
      ? perSecond * busyPart * (shares[contact] ?? 0)
      : (perSecond * (1 - busyPart)) / (contacts - busy);
  const messages: Message[] = [];
  for (let contact = 0; contact < contacts; contact += 1) {
    const mean = 1 / rate(contact);
    if (!Number.isFinite(mean)) continue;
    for (let at = exponential(random, mean); at < seconds; at += exponential(random, mean)) {
      messages.push({ at, contact, endsAt: contact < busy ? Infinity : at });
    }
  }
  return {
    contacts,
    seconds,
    messages: inOrder(messages),
    startsPerSecond: rate,
    followsPerSecond: rate,
  };
}

function inOrder(messages: Message[]): Message[] {
  return messages.sort((a, b) => a.at - b.at);
}

function sharesOf(contacts: number, exponent: number): Float64Array {
  const shares = Float64Array.from({ length: contacts }, (_, n) => 1 / (n + 1) ** exponent);
  const sum = shares.reduce((total, share) => total + share, 0);
  return shares.map((share) => share / sum);
}
