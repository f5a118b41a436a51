/**
 * Returns a function that runs `call`, but does nothing while the previous run is still in progress. Timers use it
 * for commands to Redis: while Redis is unreachable, a `patient` connection keeps each command in memory.
 */
export function skipWhileRunning(call: () => Promise<unknown>): () => Promise<void> {
  let isRunning = false;
  return async () => {
    if (isRunning) return;
    isRunning = true;
    try {
      await call();
    } finally {
      isRunning = false;
    }
  };
}
