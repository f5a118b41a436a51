/**
 * Conversations, as front ends show them. A conversation row, or row for short, is what the list of conversations
 * shows of one conversation.
 *
 * | folder | contents |
 * |---|---|
 * | `row/`      | what a row consists of, and how messages and sends change it |
 * | `changes/`  | how listeners are notified of changes of rows and sends |
 * | `search/`   | the search words of contacts, and how search queries are parsed |
 * | `redis/`    | how rows are stored; Lua scripts of relay and feed include files of `redis/lua/includes/` |
 * | `timeline/` | messages and sends of a conversation in one list, newest first, read from upstream page by page |
 */
export {
  type Conversation,
  type ConversationPage,
  type Conversations,
  emptyConversation,
  type LastEntry,
  type ListPosition,
} from './row/conversation.js';
export { comparePositions, type Position } from './position.js';
export { RowMessageCollector } from './row/row-message-collector.js';
export { previewOf } from './row/preview.js';
export { NO_ROW_UPDATE, type RowEntry, type RowMessage, type RowUpdate } from './row/row-entry.js';
export { rowCategoryOfStatus, type SendCategory } from './row/send-category.js';
export { searchWordsOfContact } from './search/search-words.js';
export type {
  ChangeListener,
  ConversationChanges,
  SendStatusNotice,
} from './changes/conversation-changes.js';
export { RedisConversationChangeSubscriber } from './redis/redis-conversation-change-subscriber.js';
export { eraseConversationRows, RedisConversations } from './redis/redis-conversations.js';
export { rowUpdateLuaArguments } from './redis/redis-row-update-arguments.js';
export { channelOfConversationChanges, type RowKeys, rowRedisKeys } from './redis/redis-row-keys.js';
export {
  type CommittedMessageState,
  type ListOrder,
  type ListShape,
  type MessageChange,
  type MessagePages,
  type MessagesPage,
  MessagesUnavailableError,
  type RemainingBudgetWait,
  type SendOfMessage,
  type SendsPage,
  type TimelineClock,
  type TimelineConversation,
  type TimelineEntry,
  type TimelineEvents,
  type TimelineFeed,
  type TimelineMessage,
  type TimelineSend,
  type TimelineSends,
} from './timeline/ports.js';
export {
  Timeline,
  TIMELINE_PAGE_READ_TIME_LIMIT_MS,
  type TimelinePage,
  type TimelinePorts,
} from './timeline/timeline.js';
export { parseTimelineCursor, type TimelineCursor } from './timeline/timeline-cursor.js';
