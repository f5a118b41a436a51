const MINUTE_MS = 60_000;

/**
 * What is counted of an account in each minute. A stored minute is the list of its numbers in this order: new names
 * are added at the end, and no name is removed, so that builds that run side by side understand each other.
 */
export const COUNT_NAMES = [
  'sendsCreated',
  'sendsAccepted',
  'sendsSent',
  'sendsFailed',
  'sendsUnknown',
  'sendsExpired',
  'eventsTotal',
  'eventsReceived',
  'deliveriesSucceeded',
  'deliveriesFailed',
  'deliveryAttemptsFailed',
  'detectionDelays',
  'detectionDelaySumMs',
  'detectionDelayMaxMs',
  'deliveryDelays',
  'deliveryDelaySumMs',
  'deliveryDelayMaxMs',
  'requestsUsed',
  'requestsThrottled',
  'requestsFailed',
  'backlogSamples',
  'backlogSends',
  'backlogDeliveries',
] as const;

export type CountName = (typeof COUNT_NAMES)[number];

/** Counts of which a minute has the largest value. Of all other counts it has the sum. */
const MAXIMA: ReadonlySet<CountName> = new Set([
  'detectionDelayMaxMs',
  'deliveryDelayMaxMs',
  'backlogSends',
  'backlogDeliveries',
]);

/** The counts of one minute. */
export type MinuteCounts = Record<CountName, number>;

/** Counts by minute, in minutes since 1970. */
export type CountsByMinute = ReadonlyMap<number, Readonly<MinuteCounts>>;

/** True if a minute has the largest value of this count, and not the sum. */
export function isMaximum(name: CountName): boolean {
  return MAXIMA.has(name);
}

/** Returns the minute of a time in milliseconds, in minutes since 1970. */
export function minuteOf(ms: number): number {
  return Math.floor(ms / MINUTE_MS);
}

/** Returns the start of a minute, in milliseconds since 1970. */
export function startOfMinute(minute: number): number {
  return minute * MINUTE_MS;
}

/** Returns the counts of a minute in which nothing has happened yet. */
export function noCounts(): MinuteCounts {
  return Object.fromEntries(COUNT_NAMES.map((name) => [name, 0])) as MinuteCounts;
}

/** Adds a value to a count. */
export function addCount(counts: MinuteCounts, name: CountName, value: number): void {
  counts[name] = isMaximum(name) ? Math.max(counts[name], value) : counts[name] + value;
}
