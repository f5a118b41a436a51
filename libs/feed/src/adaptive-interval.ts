/** How often one contact changes, decayed over time. */
export interface ActivityRate {
  /** Changes, each worth less the older it is. */
  weight: number;
  /** When the weight was right, in milliseconds since 1970. */
  at: number;
}

const HALF_LIFE_MS = 6 * 3_600_000;
/** A contact that never changed is still looked at as if it changed once in so long. */
const FLOOR = 0.05;

/** The rate after `changes` more changes at `now`. */
export function recordActivity(rate: ActivityRate | undefined, changes: number, now: number): ActivityRate {
  return { weight: (rate === undefined ? 0 : decayed(rate, now)) + changes, at: now };
}

function decayed({ weight, at }: ActivityRate, now: number): number {
  return weight * 0.5 ** (Math.max(now - at, 0) / HALF_LIFE_MS);
}

/**
 * A contact's share of the budget: the square root of its rate. Expected staleness under a fixed budget is least when
 * the frequency of reads follows the square root of the rate of change (Cho and Garcia-Molina, "Effective page refresh
 * policies for web crawlers").
 */
export function shareOf(rate: ActivityRate): number {
  return Math.sqrt(rate.weight + FLOOR);
}

/**
 * How long to wait before the next read of a contact, in milliseconds.
 * @param share of this contact; `shares` is the sum over all of the account's contacts
 * @param readsPerSecond what polling may cost
 */
export function intervalFor(
  share: number,
  shares: number,
  readsPerSecond: number,
  bounds: { min: number; max: number },
): number {
  const fair = (Math.max(shares, share) / share / readsPerSecond) * 1000;
  return Math.round(Math.min(Math.max(fair, bounds.min), bounds.max));
}
