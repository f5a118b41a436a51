import { useEffect, useMemo, useRef } from 'preact/hooks';
import { throttled } from './throttled.js';

/**
 * Returns a function that runs the action, at most once per `everyMs` milliseconds. Errors of the action are ignored
 * here, because the action itself shows them.
 */
export function useThrottled(action: () => Promise<void>, everyMs: number): () => void {
  const latest = useRef(action);
  latest.current = action;
  const limited = useMemo(() => throttled(() => latest.current().catch(() => undefined), everyMs), [everyMs]);
  useEffect(() => limited.stop, [limited]);
  return limited.ask;
}
