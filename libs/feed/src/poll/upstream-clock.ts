import type { ContactState } from '../snapshot/contact-state.js';
import type { ReplyTime } from '../walk/page-requests.js';

/**
 * Returns how far upstream's clock is ahead of Redis' clock, in milliseconds; 0 if unknown.
 * @param reply time of any reply of upstream; undefined if the reply had no `Date` header
 * @param state a state of the contact, read before or after the reply
 */
export function upstreamClockDifferenceMs(
  reply: ReplyTime | undefined,
  { now, receivedAt }: Pick<ContactState, 'now' | 'receivedAt'>,
): number {
  if (reply === undefined) return 0;
  // A request may wait for a token, and a read may have many pages. So the time of the reply by Redis' clock is
  // calculated from the time that passed between the state and the reply.
  const redisTime = now + reply.arrivedAt - receivedAt;
  // The `Date` header contains no fraction of a second. On average, its time is therefore half a second too
  // early.
  return reply.date + 500 - redisTime;
}
