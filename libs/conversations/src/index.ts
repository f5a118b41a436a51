/**
 * Conversations, as front ends show them.
 *
 * | folder | contents |
 * |---|---|
 * | `timeline/` | the messages and sends of a conversation in one list, newest first, read from upstream page by page |
 */
export {
  type Committed,
  type ListShape,
  type MessageChange,
  type MessagePages,
  type MessagesPage,
  MessagesUnavailableError,
  type Patience,
  type SendOfMessage,
  type SendsPage,
  type TimelineClock,
  type TimelineConversation,
  type TimelineConversations,
  type TimelineEntry,
  type TimelineEvents,
  type TimelineFeed,
  type TimelineMessage,
  type TimelineSend,
  type TimelineSends,
} from './timeline/ports.js';
export { Timeline, type TimelinePage, type TimelinePorts } from './timeline/timeline.js';
export { parseTimelineCursor, type TimelineCursor } from './timeline/timeline-cursor.js';
