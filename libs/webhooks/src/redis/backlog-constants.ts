import { MAX_DELIVERIES_PER_REFILL } from '../delivery/delivery-store.js';

/** Constants of each script that includes `backlog.lua`. */
export const BACKLOG_CONSTANTS = { MAX_REFILL: MAX_DELIVERIES_PER_REFILL };
