import { useEffect, useState } from 'preact/hooks';

/** The progress of a replay, derived from the number of pending deliveries of its webhook. */
export interface ReplayProgress {
  /** Number of deliveries of the replay, plus the other deliveries that were pending. */
  total: number;
  /** Number of deliveries that have ended. */
  done: number;
  /** When `done` last changed, in milliseconds since 1970. */
  changedAt: number;
  /** `stalled`: no delivery has ended for a while, so the page reads the webhook less often. */
  status: 'running' | 'stalled' | 'ended';
}

/** A replay counts as stalled if no delivery has ended for this time, in milliseconds. */
const STALLED_MS = 120_000;

/** Returns the progress of a replay that just started. */
export function startedProgress(count: number, now: number): ReplayProgress {
  return { total: count, done: 0, changedAt: now, status: 'running' };
}

/**
 * Returns the progress after another read of the webhook. Deliveries of new events are also pending for a moment, so
 * the number of pending deliveries may rise. The progress never falls.
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
 * @returns the progress, and a function: called with the number of deliveries of a new replay, it starts to follow
 * the replay; called with `undefined`, it stops
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
