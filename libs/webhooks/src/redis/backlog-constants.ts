import { MAX_DELIVERIES_PER_BACKLOG_REFILL } from '../delivery/delivery-store.js';

/** Constants for every script that includes `backlog.lua`. */
export const BACKLOG_LUA_CONSTANTS = { MAX_REFILL: MAX_DELIVERIES_PER_BACKLOG_REFILL };
