/**
 * Polls upstream and emits events for changes of contacts and messages.
 *
 * | file or folder | content |
 * |---|---|
 * | `ports.ts`, `feed-store.ts` | ports: what the lib needs from other libs and from its store |
 * | `form/`     | fingerprints of messages and contacts; detection of volatile fields |
 * | `snapshot/` | what the feed stores about messages, contacts and the contact list; packed formats |
 * | `diff/`     | comparison of a read with the snapshot: new, changed and missing messages; pure |
 * | `walk/`     | order of a contact's message pages; which pages a read requests |
 * | `poll/`     | read of the newest messages and read of older messages of one contact, up to the commit |
 * | `contacts/` | poll of the contact list; look-ups of sends |
 * | `schedule/` | polling interval of each contact; forecast of delays; pure |
 * | `delay/`    | measurement of the detection delay |
 * | `redis/`    | store and poll queue on Redis |
 */
export { ContactListPoller } from './contacts/contact-list-poller.js';
export { ContactPoller } from './poll/contact-poller.js';
export { type PollReport } from './delay/poll-report.js';
export { type KnownMessage } from './snapshot/known-message.js';
export { MIN_ABSENCE_UNTIL_DELETED_MS, type FeedSettings } from './poll/feed-settings.js';
export { type DetectionDelay, type FeedOverview, type ListFault } from './schedule/feed-overview.js';
export { type FeedStore } from './feed-store.js';
export { type PollCommit } from './poll/poll-commit.js';
export { type ContactState } from './snapshot/contact-state.js';
export { AgendaNotifyingFeedStore } from './redis/agenda-notifying-feed-store.js';
export { POLL_TASK_NAMES, DuePollAnnouncer } from './poll/due-poll-announcer.js';
export { type BudgetForecast, forecastPolling } from './schedule/polling-forecast.js';
export {
  type ClaimedPoll,
  type ClaimReply,
  type EndedClaim,
  type NextDueTime,
  POLL_LEASE_MS,
  POLL_LEASE_RENEWAL_INTERVAL_MS,
  type PollKind,
  type PollQueue,
  type PollOutcome,
} from './poll/poll-queue.js';
export {
  type ClaimedRead,
  type FeedSource,
  type RecordedMessages,
  type PollAgenda,
  type ReadPurpose,
  type SendBinder,
} from './ports.js';
export { RecipientMessageReader } from './contacts/recipient-message-reader.js';
export { RedisFeedStore } from './redis/redis-feed-store.js';
export { RedisPollQueue } from './redis/redis-poll-queue.js';
export { RedisVolatileFieldStore } from './redis/redis-volatile-field-store.js';
export { type VolatileField, type VolatileFieldStore } from './form/volatile-fields.js';
export { type PollDueTimes, RedisPollDueTimeReader } from './redis/redis-poll-due-time-reader.js';
