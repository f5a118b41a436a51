export { type Cursor, formatCursor, isLogPositionBefore, parseCursor } from './cursor.js';
export { type Event, eventToJson, type LoggedEvent, type NewEvent } from './event.js';
export {
  CursorExpiredError,
  type EventFilter,
  type EventLog,
  type EventPage,
  type EventRetention,
  selectEvents,
} from './event-log.js';
export { type EventLogNotifier, EventLogFollower } from './event-log-notifier.js';
export {
  EVENT_TYPES,
  type EventType,
  type EventTypeOf,
  type EventTypePattern,
  isEventTypePattern,
  matchesEventType,
} from './event-type.js';
export { appendEventsLuaArguments, type LogKeys, eventLogRedisKeys } from './redis-append.js';
export { type ReadResult, RedisEventConsumer } from './redis-event-consumer.js';
export { MAX_EXAMINED_EVENTS, RedisEventLog } from './redis-event-log.js';
export { RedisEventLogNotifier } from './redis-event-log-notifier.js';
export { RedisEventLogTrimSchedule } from './redis-event-log-trim-schedule.js';
export { parseRedisStreamEntry, type StreamEntry } from './redis-stream-entry.js';
export {
  type ReaderLease,
  EventLogReaderLeaseLostError,
  eventLogReaderLeaseRedisKey,
} from './redis-event-log-reader-lease.js';
