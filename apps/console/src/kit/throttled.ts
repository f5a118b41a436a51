/** A call that is made again and again, but not too often. */
export interface Throttled {
  /** Calls the action at once, or as soon as the time since its last start has passed. */
  ask: () => void;
  /** Makes no further call. */
  stop: () => void;
}

/**
 * Limits how often an action starts. Its runs do not overlap: what is asked during a run starts another one after it.
 * @param action must not reject
 */
export function throttled(action: () => Promise<void>, everyMs: number): Throttled {
  let isWanted = false;
  let isRunning = false;
  let isStopped = false;
  let startedAt = -Infinity;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const consider = (): void => {
    if (!isWanted || isRunning || isStopped || timer !== undefined) return;
    const waitMs = startedAt + everyMs - performance.now();
    if (waitMs > 0) {
      timer = setTimeout(() => {
        timer = undefined;
        consider();
      }, waitMs);
      return;
    }
    isWanted = false;
    isRunning = true;
    startedAt = performance.now();
    void action().finally(() => {
      isRunning = false;
      consider();
    });
  };
  return {
    ask: () => {
      isWanted = true;
      consider();
    },
    stop: () => {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}
