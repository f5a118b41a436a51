import { LuaScript } from '#platform';
import { BACKLOG_LUA_CONSTANTS } from './backlog-constants.js';

/** Claims due deliveries of an endpoint for one process. */
export const claimDeliveriesScript = LuaScript.from(
  import.meta.url,
  'lua/claim-deliveries.lua',
  BACKLOG_LUA_CONSTANTS,
);
/** Records attempts, and schedules the next attempts of their deliveries or finishes the deliveries. */
export const settleDeliveriesScript = LuaScript.from(
  import.meta.url,
  'lua/settle-deliveries.lua',
  BACKLOG_LUA_CONSTANTS,
);
/** Ends the claim of a delivery without recording an attempt. The delivery is due again at once. */
export const releaseDeliveryClaimScript = LuaScript.from(
  import.meta.url,
  'lua/release-delivery.lua',
  BACKLOG_LUA_CONSTANTS,
);
/**
 * Ends deliveries as `failed`: all pending deliveries of a removed endpoint, or the deliveries of a disabled endpoint
 * that wait for an attempt. One call ends a limited number of them.
 */
export const failPendingDeliveriesScript = LuaScript.from(
  import.meta.url,
  'lua/end-pending.lua',
  BACKLOG_LUA_CONSTANTS,
);
/** Lists deliveries of one endpoint or of all endpoints, newest first. */
export const listDeliveriesScript = LuaScript.from(import.meta.url, 'lua/list-deliveries.lua', { BATCH: 20 });
/** Lists the deliveries of one event, newest first. */
export const listEventDeliveriesScript = LuaScript.from(import.meta.url, 'lua/list-event-deliveries.lua');
/**
 * Lists the endpoints that need work now, the longest overdue first: deliveries are due, a lease has ended, the backlog
 * can be refilled, or the deliveries of a disabled or removed endpoint must be ended.
 */
export const listEndpointsWithDueWorkScript = LuaScript.from(
  import.meta.url,
  'lua/list-due-endpoints.lua',
  BACKLOG_LUA_CONSTANTS,
);
/** Removes finished deliveries that exceed the limits on age or number. */
export const trimFinishedDeliveriesScript = LuaScript.from(
  import.meta.url,
  'lua/trim-deliveries.lua',
  BACKLOG_LUA_CONSTANTS,
);
