/** An AbortSignal that aborts as soon as one of several signals aborts. */
export interface CombinedAbortSignal {
  signal: AbortSignal;
  /** Stops following the signals. Must be called when `signal` is no longer used. */
  release: () => void;
}

/**
 * Combines AbortSignals of which some outlive the result, such as the signal that the process shuts down. Such a signal
 * would keep some bytes for each result of `AbortSignal.any` until the process ends (nodejs/node#55351).
 */
export function combineAbortSignals(...sources: readonly (AbortSignal | undefined)[]): CombinedAbortSignal {
  const controller = new AbortController();
  const followed = sources.filter((source) => source !== undefined);
  const abort = (): void => {
    release();
    controller.abort();
  };
  const release = (): void => {
    for (const source of followed) source.removeEventListener('abort', abort);
  };
  for (const source of followed) source.addEventListener('abort', abort, { once: true });
  if (followed.some(({ aborted }) => aborted)) abort();
  return { signal: controller.signal, release };
}
