import { LuaScript } from '#platform';
import { MAX_DELIVERIES_PER_REFILL } from '../delivery/delivery-store.js';

/** Creates deliveries of events to endpoints. */
export const createDeliveriesScript = LuaScript.from(import.meta.url, 'lua/create-deliveries.lua', {
  MAX_REFILL: MAX_DELIVERIES_PER_REFILL,
});
/** Creates deliveries of past events, and makes existing deliveries pending and due again. */
export const replayDeliveriesScript = LuaScript.from(import.meta.url, 'lua/replay-deliveries.lua', {
  MAX_REFILL: MAX_DELIVERIES_PER_REFILL,
});
/** Counts the deliveries that {@link replayDeliveriesScript} would make pending. */
export const countDeliveriesToReplayScript = LuaScript.from(import.meta.url, 'lua/count-replay.lua', {
  MAX_REFILL: MAX_DELIVERIES_PER_REFILL,
});
/** Creates the delivery of one event to one endpoint, or makes the existing delivery due now. */
export const createOrRetryDeliveryScript = LuaScript.from(import.meta.url, 'lua/deliver-event.lua', {
  MAX_REFILL: MAX_DELIVERIES_PER_REFILL,
});
/** Makes one delivery due now. */
export const retryDeliveryScript = LuaScript.from(import.meta.url, 'lua/retry-delivery.lua', {
  MAX_REFILL: MAX_DELIVERIES_PER_REFILL,
});
/** Reads the range of events for which an endpoint's deliveries must still be created. */
export const readEventRangeForRefillScript = LuaScript.from(
  import.meta.url,
  'lua/read-undelivered-range.lua',
  {
    MAX_REFILL: MAX_DELIVERIES_PER_REFILL,
  },
);
/**
 * Creates deliveries for the range that {@link readEventRangeForRefillScript} returned, and moves the start of
 * the range.
 */
export const refillPendingDeliveriesScript = LuaScript.from(import.meta.url, 'lua/refill-backlog.lua', {
  MAX_REFILL: MAX_DELIVERIES_PER_REFILL,
});
