export { ContactListPoll } from './contact-list-poll.js';
export { ContactPoll } from './contact-poll.js';
export { ABSENCE_MS, type FeedSettings } from './feed-settings.js';
export { type DetectionDelay, type FeedOverview } from './feed-overview.js';
export { type FeedStore } from './feed-store.js';
export { type FeedSource, type LastForms, type ReadPurpose, type SendBinder } from './ports.js';
export { RecipientLookup } from './recipient-lookup.js';
export { RedisFeedStore } from './redis-feed-store.js';
