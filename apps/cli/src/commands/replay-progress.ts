import type { Webhook } from '#client';

/** Time in which no delivery ends, after which a replay is followed no longer, in milliseconds. As in the console. */
const STALLED_MS = 120_000;

/**
 * Follows a replay until none of its deliveries is pending, as the number of pending deliveries of its webhook shows.
 * That may never be the case: the webhook may fail, or new events may become pending as fast as others end.
 * @param count number of deliveries of the replay
 * @param look waits a while and reads the webhook
 * @param show shows how many deliveries have ended
 * @returns `stalled` if there was no progress for two minutes
 */
export async function followReplay<T extends Pick<Webhook, 'pending'>>(
  count: number,
  look: () => Promise<T>,
  show: (done: number, webhook: T) => void,
  now: () => number = () => performance.now(),
): Promise<'ended' | 'stalled'> {
  // Deliveries that were pending before the replay are progress too when they end.
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
