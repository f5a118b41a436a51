import type { FactoryProvider, Provider } from '@nestjs/common';
import type { AccountDirectory } from '#accounts';
import { Timeline } from '#conversations';
import type { EventLog } from '#events';
import type { FeedStore } from '#feed';
import type { Clock, RedisClient } from '#platform';
import { RedisSendHistory, type Send } from '#relay';
import { type BudgetedUpstream, RedisRequestRateLimiter } from '#upstream';
import { ACCOUNT_UPSTREAM, ACCOUNTS, CLOCK, EVENT_LOG, FEED, TIMELINE } from '../tokens.js';
import { LoggedTimelineEvents } from './timeline-events.js';
import { StoredTimelineFeed } from './timeline-feed.js';
import { RelayedTimelineSends } from './timeline-sends.js';
import { TimelineUpstream } from './timeline-upstream.js';

/** Number of requests for timelines that may be sent at once: as many as one page of a timeline needs. */
const BURST = 5;

/** Returns the providers of the timeline's tokens of `tokens.ts`. */
export function timelineBindings(redis: RedisClient, prefix: string): Provider[] {
  const history = new RedisSendHistory(redis, prefix);
  const limiter = new RedisRequestRateLimiter(redis, prefix, 'timelines', BURST);
  const timeline: FactoryProvider<Timeline<Send>> = {
    provide: TIMELINE,
    inject: [ACCOUNT_UPSTREAM, ACCOUNTS, FEED, EVENT_LOG, CLOCK],
    useFactory: (
      upstream: BudgetedUpstream,
      accounts: AccountDirectory,
      feed: FeedStore,
      log: EventLog,
      clock: Clock,
    ) =>
      new Timeline({
        pages: new TimelineUpstream(upstream, accounts, limiter),
        feed: new StoredTimelineFeed(feed),
        sends: new RelayedTimelineSends(history),
        events: new LoggedTimelineEvents(log),
        clock: { now: () => Promise.resolve(clock.now()) },
      }),
  };
  return [timeline];
}
