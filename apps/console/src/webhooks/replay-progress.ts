import { useEffect, useState } from 'preact/hooks';

/** How far a replay is, as the number of pending deliveries of its webhook shows. */
export interface ReplayProgress {
  /** Number of deliveries of the replay, and of those that were pending besides. */
  total: number;
  /** Number of deliveries that have ended. */
  done: number;
  /** When `done` last changed, in milliseconds since 1970. */
  changedAt: number;
  /** `stalled`: nothing has ended for a while, so the page no longer looks every second. */
  status: 'running' | 'stalled' | 'ended';
}

/** Time without a delivery that ends, after which a replay counts as stalled, in milliseconds. */
const STALLED_MS = 120_000;

/** Returns the progress of a replay that just started. */
export function startedProgress(count: number, now: number): ReplayProgress {
  return { total: count, done: 0, changedAt: now, status: 'running' };
}

/**
 * Returns the progress after a look at the webhook. New events are pending too for a moment, so the number of pending
 * deliveries may rise; the progress never falls.
 */
export function progressAfter(before: ReplayProgress, pending: number, now: number): ReplayProgress {
  if (before.status === 'ended') return before;
  const isFirst = before.done === 0;
  const total = isFirst ? Math.max(before.total, pending) : before.total;
  if (pending === 0) return { total, done: total, changedAt: now, status: 'ended' };
  const done = Math.max(before.done, total - pending);
  if (done > before.done) return { total, done, changedAt: now, status: 'running' };
  const isStalled = now - before.changedAt > STALLED_MS;
  return { ...before, total, status: isStalled ? 'stalled' : before.status };
}

/**
 * Follows a replay.
 * @param pending number of pending deliveries of the webhook, undefined until it is read
 * @param readAt when that number was read
 * @returns the progress, and a function that starts with the count of a new replay, or ends with `undefined`
 */
export function useReplayProgress(
  pending: number | undefined,
  readAt: number,
): [ReplayProgress | undefined, (count: number | undefined) => void] {
  const [progress, setProgress] = useState<ReplayProgress>();
  const startedAt = progress?.status === 'ended' ? undefined : progress !== undefined;
  useEffect(() => {
    if (startedAt !== true || pending === undefined) return;
    setProgress((before) => before && progressAfter(before, pending, Date.now()));
  }, [startedAt, pending, readAt]);
  return [
    progress,
    (count) => {
      setProgress(count === undefined ? undefined : startedProgress(count, Date.now()));
    },
  ];
}
