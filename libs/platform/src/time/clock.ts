/** Source of the current time. Tests replace it. */
export interface Clock {
  /** Returns the current time, in milliseconds since 1970. */
  now(): number;
}

export const clockOfThisMachine: Clock = { now: () => Date.now() };
