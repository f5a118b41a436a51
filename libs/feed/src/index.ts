/**
 * What changed at upstream, found out by reading it again and again.
 *
 * | | |
 * |---|---|
 * | `ports.ts`  | what the lib needs of others; `feed-store.ts` is the port of its store |
 * | `form/`     | what of a message or contact counts as its content, and which fields differ at every read |
 * | `snapshot/` | what is known of messages, contacts and the contact list, and how it is packed |
 * | `diff/`     | what a read says has changed, appeared or vanished; pure |
 * | `walk/`     | pages of unknown order: in which to read them, and where to stop |
 * | `poll/`     | one read of one contact, from its turn to its commit |
 * | `contacts/` | the contact list, and which contact has a phone number |
 * | `schedule/` | who is read when; pure |
 * | `delay/`    | how late changes were detected |
 * | `redis/`    | snapshots and the queue of polls in Redis |
 */
export { ContactListPoll } from './contacts/contact-list-poll.js';
export { ContactPoll } from './poll/contact-poll.js';
export { type PollReport } from './delay/poll-report.js';
export { ABSENCE_MS, type FeedSettings } from './poll/feed-settings.js';
export { type DetectionDelay, type FeedOverview, type ListFault } from './schedule/feed-overview.js';
export { type FeedStore } from './feed-store.js';
export { HintingFeedStore } from './redis/hinting-feed-store.js';
export { POLL_ROUND, PollHints } from './poll/poll-hints.js';
export { type BudgetForecast, pollOutlook } from './schedule/poll-outlook.js';
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
} from './poll/poll-queue.js';
export {
  type ClaimedRead,
  type FeedSource,
  type LastForms,
  type PollAgenda,
  type ReadPurpose,
  type SendBinder,
} from './ports.js';
export { RecipientLookup } from './contacts/recipient-lookup.js';
export { RedisFeedStore } from './redis/redis-feed-store.js';
export { RedisPollQueue } from './redis/redis-poll-queue.js';
export { RedisVolatileFields } from './redis/redis-volatile-fields.js';
export { type VolatileField, type VolatileFieldStore } from './form/volatile-fields.js';
export { type FeedSurvey, RedisFeedSurvey } from './redis/redis-feed-survey.js';
