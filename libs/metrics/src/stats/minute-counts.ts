const MINUTE_MS = 60_000;

/**
 * Names of the counts that are kept for each minute of an account. Redis stores a minute as a list of numbers in this
 * order. Add new names at the end and remove none, because different builds may share the stored lists.
 */
export const PER_MINUTE_COUNT_NAMES = [
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

export type CountName = (typeof PER_MINUTE_COUNT_NAMES)[number];

/** Counts for which a minute keeps the largest value. For every other count, a minute keeps the sum of the values. */
const MAXIMA: ReadonlySet<CountName> = new Set([
  'detectionDelayMaxMs',
  'deliveryDelayMaxMs',
  'backlogSends',
  'backlogDeliveries',
]);

/** The counts of one minute. */
export type MinuteCounts = Record<CountName, number>;

/** Maps a minute, in minutes since 1970, to its counts. */
export type CountsByMinute = ReadonlyMap<number, Readonly<MinuteCounts>>;

/** Returns true if a minute keeps the largest value of this count, and false if it keeps the sum of the values. */
export function isCountKeptAsMaximum(name: CountName): boolean {
  return MAXIMA.has(name);
}

/** Converts a time in milliseconds since 1970 to whole minutes since 1970. */
export function minuteNumberAt(ms: number): number {
  return Math.floor(ms / MINUTE_MS);
}

/** Converts a minute since 1970 to the time of its start, in milliseconds since 1970. */
export function startOfMinuteMs(minute: number): number {
  return minute * MINUTE_MS;
}

/** Returns counts that are all 0, for a minute in which nothing was counted yet. */
export function createZeroCounts(): MinuteCounts {
  return Object.fromEntries(PER_MINUTE_COUNT_NAMES.map((name) => [name, 0])) as MinuteCounts;
}

/** Adds values to counts. A count that is a maximum becomes the larger of the two values instead of their sum. */
export function addCounts(counts: MinuteCounts, added: Partial<MinuteCounts>): void {
  for (const [name, value] of Object.entries(added) as [CountName, number][])
    counts[name] = isCountKeptAsMaximum(name) ? Math.max(counts[name], value) : counts[name] + value;
}

/**
 * Returns the counts of one delay: the detection delay of a new message or the delay of a delivery.
 * @param ms the delay in milliseconds; a negative delay counts as 0
 */
export function countsOfDelay(kind: 'detection' | 'delivery', ms: number): Partial<MinuteCounts> {
  const delay = Math.max(ms, 0);
  return { [`${kind}Delays`]: 1, [`${kind}DelaySumMs`]: delay, [`${kind}DelayMaxMs`]: delay };
}
