import { LuaScript } from '#platform';
import { BACKLOG_LUA_CONSTANTS } from './backlog-constants.js';

/** Creates deliveries of events to endpoints. */
export const createDeliveriesScript = LuaScript.from(
  import.meta.url,
  'lua/create-deliveries.lua',
  BACKLOG_LUA_CONSTANTS,
);
/** Creates deliveries of past events, and makes existing deliveries pending and due again. */
export const replayDeliveriesScript = LuaScript.from(
  import.meta.url,
  'lua/replay-deliveries.lua',
  BACKLOG_LUA_CONSTANTS,
);
/** Counts the deliveries that {@link replayDeliveriesScript} would create, make pending, or make due. */
export const countDeliveriesToReplayScript = LuaScript.from(
  import.meta.url,
  'lua/count-replay.lua',
  BACKLOG_LUA_CONSTANTS,
);
/** Creates the delivery of one event to one endpoint, or makes the existing delivery due now. */
export const createOrRetryDeliveryScript = LuaScript.from(
  import.meta.url,
  'lua/deliver-event.lua',
  BACKLOG_LUA_CONSTANTS,
);
/** Makes one delivery due now. */
export const retryDeliveryScript = LuaScript.from(
  import.meta.url,
  'lua/retry-delivery.lua',
  BACKLOG_LUA_CONSTANTS,
);
/** Reads the range of events for which an endpoint's deliveries must still be created. */
export const readEventRangeForBacklogRefillScript = LuaScript.from(
  import.meta.url,
  'lua/read-undelivered-range.lua',
  BACKLOG_LUA_CONSTANTS,
);
/**
 * Creates deliveries for the range that {@link readEventRangeForBacklogRefillScript} returned, and moves the start of
 * the range.
 */
export const refillBacklogScript = LuaScript.from(
  import.meta.url,
  'lua/refill-backlog.lua',
  BACKLOG_LUA_CONSTANTS,
);
