/** Tells the time. A port, so that rules about time can be tested. */
export interface Clock {
  /** Milliseconds since 1970, of this machine. */
  now(): number;
}

export const systemClock: Clock = { now: () => Date.now() };
