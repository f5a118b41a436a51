/**
 * Returns a function that runs `call`, unless its previous run has not ended. Timers use it for commands to Redis: while
 * Redis is away, a `patient` connection keeps each command in memory until Redis is back.
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
