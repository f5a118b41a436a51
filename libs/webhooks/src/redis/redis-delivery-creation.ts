import { LuaScript } from '#platform';
import { MAX_DELIVERIES_PER_REFILL } from '../delivery/delivery-store.js';

/** Creates deliveries of events to endpoints. */
export const CREATE_DELIVERIES = LuaScript.from(import.meta.url, 'lua/create-deliveries.lua', {
  MAX_REFILL: MAX_DELIVERIES_PER_REFILL,
});
/** Creates deliveries of past events, and makes existing deliveries pending and due again. */
export const REPLAY_DELIVERIES = LuaScript.from(import.meta.url, 'lua/replay-deliveries.lua', {
  MAX_REFILL: MAX_DELIVERIES_PER_REFILL,
});
/** Counts the deliveries that {@link REPLAY_DELIVERIES} would make pending. */
export const COUNT_DELIVERIES_TO_REPLAY = LuaScript.from(import.meta.url, 'lua/count-replay.lua', {
  MAX_REFILL: MAX_DELIVERIES_PER_REFILL,
});
/** Creates the delivery of one event to one endpoint, or makes the existing delivery due now. */
export const CREATE_OR_RETRY_DELIVERY = LuaScript.from(import.meta.url, 'lua/deliver-event.lua', {
  MAX_REFILL: MAX_DELIVERIES_PER_REFILL,
});
/** Makes one delivery due now. */
export const RETRY_DELIVERY = LuaScript.from(import.meta.url, 'lua/retry-delivery.lua', {
  MAX_REFILL: MAX_DELIVERIES_PER_REFILL,
});
/** Reads the range of events for which an endpoint's deliveries must still be created. */
export const READ_EVENT_RANGE_FOR_REFILL = LuaScript.from(import.meta.url, 'lua/read-undelivered-range.lua', {
  MAX_REFILL: MAX_DELIVERIES_PER_REFILL,
});
/**
 * Creates deliveries for the range that {@link READ_EVENT_RANGE_FOR_REFILL} returned, and moves the start of
 * the range.
 */
export const REFILL_PENDING_DELIVERIES = LuaScript.from(import.meta.url, 'lua/refill-backlog.lua', {
  MAX_REFILL: MAX_DELIVERIES_PER_REFILL,
});
