export { ContactListPoll } from './contact-list-poll.js';
export { ContactPoll } from './contact-poll.js';
export { type PollReport } from './delay/poll-report.js';
export { ABSENCE_MS, type FeedSettings } from './feed-settings.js';
export { type DetectionDelay, type FeedOverview, type ListFault } from './feed-overview.js';
export { type FeedStore } from './feed-store.js';
export { HintingFeedStore } from './hinting-feed-store.js';
export { POLL_ROUND, PollHints } from './poll-hints.js';
export { type BudgetForecast, pollOutlook } from './poll-outlook.js';
export {
  type ClaimedPoll,
  type ClaimReply,
  type EndedClaim,
  type NextDue,
  POLL_LEASE_MS,
  POLL_RENEWAL_MS,
  type PollKind,
  type PollQueue,
  type ReadEnd,
} from './poll-queue.js';
export {
  type ClaimedRead,
  type FeedSource,
  type LastForms,
  type PollAgenda,
  type ReadPurpose,
  type SendBinder,
} from './ports.js';
export { RecipientLookup } from './recipient-lookup.js';
export { RedisFeedStore } from './redis-feed-store.js';
export { RedisPollQueue } from './redis-poll-queue.js';
export { RedisVolatileFields } from './redis-volatile-fields.js';
export { type VolatileField, type VolatileFieldStore } from './volatile-fields.js';
export { type FeedSurvey, RedisFeedSurvey } from './redis-feed-survey.js';
