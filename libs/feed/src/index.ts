export { ContactListPoll } from './contact-list-poll.js';
export { ContactPoll } from './contact-poll.js';
export { ABSENCE_MS, type FeedSettings } from './feed-settings.js';
export { type FeedOverview, type FeedStore } from './feed-store.js';
export { HintingFeedStore } from './hinting-feed-store.js';
export { POLL_ROUND, PollHints } from './poll-hints.js';
export {
  type FeedSource,
  type LastForms,
  type PollAgenda,
  type ReadPurpose,
  type SendBinder,
} from './ports.js';
export { RecipientLookup } from './recipient-lookup.js';
export { RedisFeedStore } from './redis-feed-store.js';
export { type FeedSurvey, RedisFeedSurvey } from './redis-feed-survey.js';
