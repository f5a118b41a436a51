import { LuaScript } from '#platform';
import { POLL_REPORT_CONSTANTS } from '../delay/redis-poll-report.js';

/**
 * The fields of a contact's record have short names, for there are as many of each as contacts, and so have its two
 * keys, `c` (the record) and `m` (the messages): `v` version, `b` bucket of its rate, `m0`… memory and `r0`… raw (in pieces,
 * see `texts.lua`), `x0`… extension, `rev` its revision; for a while `tellAfter`, `hastened`, `hastenedTo` and `lost`.
 */

export const readList = LuaScript.from(import.meta.url, 'lua/read-list.lua');
export const readContact = LuaScript.from(import.meta.url, 'lua/read-contact.lua');
export const commitPoll = LuaScript.from(import.meta.url, 'lua/commit-poll.lua', POLL_REPORT_CONSTANTS);
export const commitContacts = LuaScript.from(import.meta.url, 'lua/commit-contacts.lua');
export const noteListFault = LuaScript.from(import.meta.url, 'lua/note-list-fault.lua');
export const readContactRecord = LuaScript.from(import.meta.url, 'lua/read-contact-record.lua');
export const takeListPollRequest = LuaScript.from(import.meta.url, 'lua/take-list-poll-request.lua');
export const readRates = LuaScript.from(import.meta.url, 'lua/read-rates.lua');
export const expeditePoll = LuaScript.from(import.meta.url, 'lua/expedite-poll.lua');
export const confirmDeletions = LuaScript.from(import.meta.url, 'lua/confirm-deletions.lua');
