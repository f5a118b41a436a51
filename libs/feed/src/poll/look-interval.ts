/** A message is looked up again after this part of its age… */
const PART_OF_AGE = 1 / 4;
/** …but not before, and not later than this, in milliseconds. */
const SHORTEST_MS = 10_000;
const LONGEST_MS = 3_600_000;

/** When a message of this age, whose flags may still change, is to be looked up again; in milliseconds from now. */
export function lookIntervalMs(ageMs: number): number {
  return Math.min(Math.max(ageMs * PART_OF_AGE, SHORTEST_MS), LONGEST_MS);
}
