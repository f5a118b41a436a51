import type { Webhook } from '#client';

/**
 * If no delivery ends for longer than this time, in milliseconds, a replay is no longer followed. The console uses
 * the same time.
 */
const STALLED_MS = 120_000;

/**
 * Follows a replay until the webhook has no pending delivery. That may never happen: the webhook may fail, or
 * deliveries of new events may be added as fast as others end.
 * @param count number of deliveries of the replay
 * @param look waits a while and reads the webhook
 * @param show shows how many deliveries have ended
 * @returns `ended` if no delivery is pending any more, `stalled` if there was no progress for two minutes
 */
export async function followReplay<T extends Pick<Webhook, 'pending'>>(
  count: number,
  look: () => Promise<T>,
  show: (done: number, webhook: T) => void,
  now: () => number = () => performance.now(),
): Promise<'ended' | 'stalled'> {
  // The end of a delivery that was pending before the replay counts as progress, too.
  let fewestPending = Number.POSITIVE_INFINITY;
  let progressAt = now();
  for (;;) {
    const webhook = await look();
    if (webhook.pending < fewestPending) {
      fewestPending = webhook.pending;
      progressAt = now();
    }
    show(Math.max(count - fewestPending, 0), webhook);
    if (fewestPending === 0) return 'ended';
    if (now() - progressAt > STALLED_MS) return 'stalled';
  }
}
