import { LuaScript } from '#platform';

export const insertSend = LuaScript.from(import.meta.url, 'lua/insert-send.lua');
export const transitSend = LuaScript.from(import.meta.url, 'lua/transit-send.lua');
export const clearLane = LuaScript.from(import.meta.url, 'lua/clear-lane.lua');
export const laneHead = LuaScript.from(import.meta.url, 'lua/lane-head.lua');
export const awaitingSends = LuaScript.from(import.meta.url, 'lua/awaiting-sends.lua');
export const dueMembers = LuaScript.from(import.meta.url, 'lua/due-members.lua');
export const dueSends = LuaScript.from(import.meta.url, 'lua/due-sends.lua');
export const releaseLanes = LuaScript.from(import.meta.url, 'lua/release-lanes.lua');
export const postponeLane = LuaScript.from(import.meta.url, 'lua/postpone-lane.lua');
export const promoteSends = LuaScript.from(import.meta.url, 'lua/promote-sends.lua');
export const nextDue = LuaScript.from(import.meta.url, 'lua/next-due.lua');
export const endingSends = LuaScript.from(import.meta.url, 'lua/ending-sends.lua');
export const forgetExpiries = LuaScript.from(import.meta.url, 'lua/forget-expiries.lua');
