import { LuaScript } from '#platform';
import { MOST_REFILLED } from '../delivery/delivery-store.js';

export const CREATE = LuaScript.from(import.meta.url, 'lua/create-deliveries.lua', {
  MAX_REFILL: MOST_REFILLED,
});
export const REPLAY = LuaScript.from(import.meta.url, 'lua/replay-deliveries.lua', {
  MAX_REFILL: MOST_REFILLED,
});
export const RETRY = LuaScript.from(import.meta.url, 'lua/retry-delivery.lua', { MAX_REFILL: MOST_REFILLED });
export const BEHIND = LuaScript.from(import.meta.url, 'lua/read-behind.lua', { MAX_REFILL: MOST_REFILLED });
export const REFILL = LuaScript.from(import.meta.url, 'lua/refill-backlog.lua', {
  MAX_REFILL: MOST_REFILLED,
});
