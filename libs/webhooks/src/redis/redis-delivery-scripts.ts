import { LuaScript } from '#platform';
import { MAX_REFILLED } from '../delivery/delivery-store.js';

export const CLAIM = LuaScript.from(import.meta.url, 'lua/claim-deliveries.lua', {
  MAX_REFILL: MAX_REFILLED,
});
export const SETTLE = LuaScript.from(import.meta.url, 'lua/settle-delivery.lua', {
  MAX_REFILL: MAX_REFILLED,
});
export const RELEASE = LuaScript.from(import.meta.url, 'lua/release-delivery.lua', {
  MAX_REFILL: MAX_REFILLED,
});
export const END_PENDING = LuaScript.from(import.meta.url, 'lua/end-pending.lua', {
  MAX_REFILL: MAX_REFILLED,
});
export const LIST = LuaScript.from(import.meta.url, 'lua/list-deliveries.lua', { MAX_REFILL: MAX_REFILLED });
export const OVERDUE = LuaScript.from(import.meta.url, 'lua/overdue-endpoints.lua', {
  MAX_REFILL: MAX_REFILLED,
});
export const TRIM = LuaScript.from(import.meta.url, 'lua/trim-deliveries.lua', { MAX_REFILL: MAX_REFILLED });
