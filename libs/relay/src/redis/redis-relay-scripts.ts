import { LuaScript } from '#platform';

/** Stores a new send, unless its idempotency key is already in use or the caller's quota is used up. */
export const insertSendScript = LuaScript.from(import.meta.url, 'lua/insert-send.lua');
/**
 * Changes the state of a send and emits the event of the change, if any. Writes nothing in the cases that
 * `RelayStore.apply` lists.
 */
export const applySendTransitionScript = LuaScript.from(import.meta.url, 'lua/transit-send.lua');
/**
 * Marks a queued send as being posted, and takes a token of the request budget for the POST. Does neither in the
 * cases `changed` and `unusual` of `FenceResult`.
 */
export const fenceSendScript = LuaScript.from(import.meta.url, 'lua/fence-send.lua');
/** Removes a send from its lane (its recipient's queue). */
export const removeSendFromLaneScript = LuaScript.from(import.meta.url, 'lua/remove-send-from-lane.lua');
/** Reads the first send in a lane. Removes the ids of sends that no longer exist from the start of the lane. */
export const readFirstSendInLaneScript = LuaScript.from(import.meta.url, 'lua/lane-head.lua');
/** Lists the sends that a new message to the recipient may belong to. */
export const readSendsAwaitingMessageScript = LuaScript.from(import.meta.url, 'lua/awaiting-sends.lua');
/** Lists the lanes that are due. */
export const readDueLanesScript = LuaScript.from(import.meta.url, 'lua/due-members.lua');
/** Reads the due sends from a sorted set that orders sends by due time. */
export const readDueSendsScript = LuaScript.from(import.meta.url, 'lua/due-sends.lua');
/**
 * Postpones the next check for the messages of accepted sends. Skips sends that changed since they were read, and
 * sends whose check is not due.
 */
export const rescheduleChecksOfAcceptedSendsScript = LuaScript.from(
  import.meta.url,
  'lua/reschedule-confirmations.lua',
);
/** Makes lanes due now that would otherwise be due later. */
export const makeLanesDueScript = LuaScript.from(import.meta.url, 'lua/make-lanes-due.lua');
/** Postpones the time at which a lane is due, unless another send is now the first in the lane. */
export const postponeLaneScript = LuaScript.from(import.meta.url, 'lua/postpone-lane.lua');
/** Moves the given scheduled sends to their recipients' lanes. Skips sends that changed since they were read. */
export const queueScheduledSendsScript = LuaScript.from(import.meta.url, 'lua/promote-sends.lua');
/** Returns the time until the first member of a sorted set is due. */
export const readMsUntilSortedSetMemberDueScript = LuaScript.from(import.meta.url, 'lua/next-due.lua');
/** Reads the sends that may have expired: by their `expiresAt`, or by their time in the lane. */
export const readExpirableSendsScript = LuaScript.from(import.meta.url, 'lua/read-expirable-sends.lua');
/** Removes the stored expiry times of the given sends. Skips sends that changed since they were read. */
export const removeSendExpiryTimesScript = LuaScript.from(import.meta.url, 'lua/remove-expiry-times.lua');
