import { useEffect, useMemo, useRef } from 'preact/hooks';
import { throttled } from './throttled.js';

/** Returns a function that runs the action, at most once in the given time. Its errors are shown where it reads. */
export function useThrottled(action: () => Promise<void>, everyMs: number): () => void {
  const latest = useRef(action);
  latest.current = action;
  const limited = useMemo(() => throttled(() => latest.current().catch(() => undefined), everyMs), [everyMs]);
  useEffect(() => limited.stop, [limited]);
  return limited.ask;
}
