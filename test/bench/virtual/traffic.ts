import { exponential, seededRandom, zipf } from './random.js';

/** One message, and the conversation that it belongs to. Times are in seconds from the start of the trial. */
export interface Message {
  at: number;
  contact: number;
  /** When the last message of its conversation is written. */
  endsAt: number;
}

/** Everything that is written in a trial. */
export interface Traffic {
  contacts: number;
  seconds: number;
  /** In order of time. */
  messages: readonly Message[];
  /** How often conversations of a contact begin, a second, in truth. */
  startsPerSecond(contact: number): number;
  /** How often messages follow each other in a conversation of a contact, a second, in truth. */
  followsPerSecond(contact: number): number;
}

export interface ConversationSettings {
  seed: number;
  contacts: number;
  seconds: number;
  /** Conversations that begin, a second, over all contacts. */
  startsPerSecond: number;
  /** The exponent by which they are spread over the contacts; 0 is evenly. */
  zipf: number;
  /** Messages of a conversation on average; their number is geometrically distributed. */
  messages: number;
  /** Between two messages of a conversation on average; exponentially distributed. */
  gapSeconds: number;
}

export function conversations(settings: ConversationSettings): Traffic {
  const { contacts, seconds, gapSeconds } = settings;
  const random = seededRandom(settings.seed);
  const draw = zipf(random, contacts, settings.zipf);
  const messages: Message[] = [];
  const goesOn = 1 - 1 / settings.messages;
  for (
    let start = exponential(random, 1 / settings.startsPerSecond);
    start < seconds;
    start += exponential(random, 1 / settings.startsPerSecond)
  ) {
    const contact = draw();
    const times = [start];
    for (let at = start; random() < goesOn; times.push(at)) at += exponential(random, gapSeconds);
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

export interface SteadySettings {
  seed: number;
  contacts: number;
  seconds: number;
  /** Messages a second over all contacts. */
  perSecond: number;
  /** So many contacts are in conversation all the time… */
  busy: number;
  /** …and have this part of all messages… */
  busyPart: number;
  /** …spread among them by this exponent; the rest is spread evenly over the others. */
  zipf: number;
}

/** Every contact's messages come as a Poisson process of its own: conversations without beginning or end, and stray messages. */
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

/** Several kinds of traffic of the same contacts at once; what is true of the first one is taken for the truth. */
export function together(first: Traffic, ...others: Traffic[]): Traffic {
  return { ...first, messages: inOrder([first, ...others].flatMap(({ messages }) => messages)) };
}

function inOrder(messages: Message[]): Message[] {
  return messages.sort((a, b) => a.at - b.at);
}

function sharesOf(contacts: number, exponent: number): Float64Array {
  const shares = Float64Array.from({ length: contacts }, (_, n) => 1 / (n + 1) ** exponent);
  const sum = shares.reduce((total, share) => total + share, 0);
  return shares.map((share) => share / sum);
}
