import { LuaScript } from '#platform';
import { POLL_REPORT_CONSTANTS } from '../delay/redis-poll-report.js';

/**
 * A contact's two keys and the fields of its record have short names, because they exist once per contact. Keys: `c` is
 * the record, `m` the messages. Fields: `v` version, `b` bucket of the rate, `m0`… memory, `r0`… raw JSON, `x0`…
 * extension (each in pieces, see `texts.lua`), `rev` revision. Some fields exist only for a time: `tellAfter`, `hastened`,
 * `hastenedTo` and `lost`.
 */

export const readList = LuaScript.from(import.meta.url, 'lua/read-list.lua');
export const readContact = LuaScript.from(import.meta.url, 'lua/read-contact.lua');
export const commitPoll = LuaScript.from(import.meta.url, 'lua/commit-poll.lua', POLL_REPORT_CONSTANTS);
export const commitContacts = LuaScript.from(import.meta.url, 'lua/commit-contacts.lua');
export const recordContactListFailure = LuaScript.from(
  import.meta.url,
  'lua/record-contact-list-failure.lua',
);
export const readContactRecord = LuaScript.from(import.meta.url, 'lua/read-contact-record.lua');
export const takeListPollRequest = LuaScript.from(import.meta.url, 'lua/take-list-poll-request.lua');
export const readRates = LuaScript.from(import.meta.url, 'lua/read-rates.lua');
export const expeditePoll = LuaScript.from(import.meta.url, 'lua/expedite-poll.lua');
export const confirmDeletions = LuaScript.from(import.meta.url, 'lua/confirm-deletions.lua');
