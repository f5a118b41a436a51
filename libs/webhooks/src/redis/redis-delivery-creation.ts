import { LuaScript } from '#platform';
import { MAX_REFILLED } from '../delivery/delivery-store.js';

export const CREATE = LuaScript.from(import.meta.url, 'lua/create-deliveries.lua', {
  MAX_REFILL: MAX_REFILLED,
});
export const REPLAY = LuaScript.from(import.meta.url, 'lua/replay-deliveries.lua', {
  MAX_REFILL: MAX_REFILLED,
});
export const RETRY = LuaScript.from(import.meta.url, 'lua/retry-delivery.lua', { MAX_REFILL: MAX_REFILLED });
export const READ_PENDING_STRETCH = LuaScript.from(import.meta.url, 'lua/read-pending-stretch.lua', {
  MAX_REFILL: MAX_REFILLED,
});
export const REFILL = LuaScript.from(import.meta.url, 'lua/refill-backlog.lua', {
  MAX_REFILL: MAX_REFILLED,
});
