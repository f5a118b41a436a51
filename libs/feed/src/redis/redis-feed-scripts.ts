import { LuaScript } from '#platform';
import { LISTED_CONTACT_STATUS_BITS } from '../snapshot/listed-contact-codec.js';
import { POLL_REPORT_LUA_CONSTANTS } from '../delay/redis-poll-report.js';

/**
 * Redis scripts for the polling state of an account. The keys and fields that Redis stores for each contact
 * have short names to save memory.
 *
 * The key `c` contains a contact's record, the key `m` its messages. Fields of the record: `v` version, `rev`
 * revision, `b` bucket of the contact's message rate, `m0` state of its reads (`PollState`), `r0` the
 * contact as JSON, `x0` more state (`RebuildablePollState`). A long value continues in `m1` and so on (see
 * `texts.lua`). Some fields exist only for a time: `tellAfter` (`ContactState.emitAfter`), `hastened` and
 * `hastenedTo` (number and due time of requests to poll sooner), `lost` (the record was lost), `failed` and
 * `failedDeep` (number of consecutive failed reads).
 */

export const readContactListState = LuaScript.from(import.meta.url, 'lua/read-list.lua');
export const readContactPollState = LuaScript.from(import.meta.url, 'lua/read-contact.lua');
export const commitPoll = LuaScript.from(import.meta.url, 'lua/commit-poll.lua', POLL_REPORT_LUA_CONSTANTS);
export const commitUnchangedPolls = LuaScript.from(
  import.meta.url,
  'lua/commit-unchanged-polls.lua',
  POLL_REPORT_LUA_CONSTANTS,
);
export const commitContacts = LuaScript.from(import.meta.url, 'lua/commit-contacts.lua');
export const recordContactListFailure = LuaScript.from(
  import.meta.url,
  'lua/record-contact-list-failure.lua',
);
export const readContactJson = LuaScript.from(import.meta.url, 'lua/read-contact-record.lua');
export const readContactsJson = LuaScript.from(import.meta.url, 'lua/read-contacts.lua');
export const takeListPollRequest = LuaScript.from(import.meta.url, 'lua/take-list-poll-request.lua');
export const readContactRates = LuaScript.from(import.meta.url, 'lua/read-rates.lua');
export const expeditePoll = LuaScript.from(import.meta.url, 'lua/expedite-poll.lua');
export const expeditePollsOfRecipients = LuaScript.from(
  import.meta.url,
  'lua/expedite-recipients.lua',
  LISTED_CONTACT_STATUS_BITS,
);
export const confirmDeletions = LuaScript.from(import.meta.url, 'lua/confirm-deletions.lua');
