import { LuaScript } from '#platform';

/** Stores a new send, unless its idempotency key is already in use. */
export const insertSendScript = LuaScript.from(import.meta.url, 'lua/insert-send.lua');
/** Changes the state of a send and emits the event of the change, unless the send changed since it was read. */
export const applySendTransitionScript = LuaScript.from(import.meta.url, 'lua/transit-send.lua');
/** Marks a queued send as being posted, and takes a token of the request budget for the POST. */
export const fenceSendScript = LuaScript.from(import.meta.url, 'lua/fence-send.lua');
/** Removes a send from its lane (its recipient's queue). */
export const removeSendFromLaneScript = LuaScript.from(import.meta.url, 'lua/remove-send-from-lane.lua');
/** Reads the first send in a lane. */
export const readFirstSendInLaneScript = LuaScript.from(import.meta.url, 'lua/lane-head.lua');
/** Lists the sends that a new message to the recipient may belong to. */
export const readSendsAwaitingMessageScript = LuaScript.from(import.meta.url, 'lua/awaiting-sends.lua');
/** Lists the lanes that are due. */
export const readDueLanesScript = LuaScript.from(import.meta.url, 'lua/due-members.lua');
/** Reads the due sends from a sorted set that orders sends by due time. */
export const readDueSendsScript = LuaScript.from(import.meta.url, 'lua/due-sends.lua');
/** Postpones the next check for the messages of accepted sends. */
export const rescheduleChecksOfAcceptedSendsScript = LuaScript.from(
  import.meta.url,
  'lua/reschedule-confirmations.lua',
);
/** Makes lanes due now that would otherwise be due later. */
export const makeLanesDueScript = LuaScript.from(import.meta.url, 'lua/make-lanes-due.lua');
/** Postpones the time at which a lane is due. */
export const postponeLaneScript = LuaScript.from(import.meta.url, 'lua/postpone-lane.lua');
/** Moves due scheduled sends to their recipients' lanes. */
export const queueScheduledSendsScript = LuaScript.from(import.meta.url, 'lua/promote-sends.lua');
/** Returns the time until the first member of a sorted set is due. */
export const readMsUntilSortedSetMemberDueScript = LuaScript.from(import.meta.url, 'lua/next-due.lua');
/** Reads queued sends that may have expired. */
export const readExpirableSendsScript = LuaScript.from(import.meta.url, 'lua/read-expirable-sends.lua');
/** Removes the stored expiry times of sends that can no longer expire. */
export const removeSendExpiryTimesScript = LuaScript.from(import.meta.url, 'lua/remove-expiry-times.lua');
