/** An action that can be requested at any time, but runs at a limited rate. */
export interface Throttled {
  /** Starts the action: at once, or as soon as enough time has passed since its last start. */
  ask: () => void;
  /** Ends the action: it is not started again. */
  stop: () => void;
}

/**
 * Limits how often an action starts. Its runs do not overlap: a request during a run starts another run afterwards.
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
