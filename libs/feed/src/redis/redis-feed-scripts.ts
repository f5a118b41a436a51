import { LuaScript } from '#platform';
import { LISTED_CONTACT_STATUS_BITS } from '../snapshot/listed-contact-codec.js';
import { POLL_REPORT_LUA_CONSTANTS } from '../delay/redis-poll-report.js';

/**
 * Redis scripts for the polling of an account. The keys of a contact and the fields of its record have short names,
 * to save memory. The key of a contact's record ends in `:c:<contact id>`. The key of the snapshots of its messages
 * ends in `:m:<contact id>`.
 *
 * Fields of the record:
 * - `v`: version of the record
 * - `rev`: revision of the contact
 * - `b`: index of the bucket that counts the contact in the histogram of message rates
 * - `m0`: `PollState`
 * - `r0`: the contact as JSON
 * - `x0`: `RebuildablePollState`
 * - `tellAfter`: `ContactState.emitAfter`
 * - `hastened`: number of open requests to poll the contact sooner
 * - `hastenedTo`: due time that the latest of these requests asked for
 * - `lost`: present if an earlier record of the contact was lost, and this record was created instead
 * - `failed` and `failedDeep`: numbers of consecutive failed reads of the newest messages and of older messages
 *
 * A long value of `m0`, `r0` or `x0` continues in `m1`, `r1` or `x1`, and so on (see `texts.lua`).
 */

export const readContactListStateScript = LuaScript.from(import.meta.url, 'lua/read-list.lua');
export const readContactPollStateScript = LuaScript.from(import.meta.url, 'lua/read-contact.lua');
export const commitPollScript = LuaScript.from(
  import.meta.url,
  'lua/commit-poll.lua',
  POLL_REPORT_LUA_CONSTANTS,
);
export const commitUnchangedPollsScript = LuaScript.from(
  import.meta.url,
  'lua/commit-unchanged-polls.lua',
  POLL_REPORT_LUA_CONSTANTS,
);
export const commitContactsScript = LuaScript.from(import.meta.url, 'lua/commit-contacts.lua');
export const recordContactListFailureScript = LuaScript.from(
  import.meta.url,
  'lua/record-contact-list-failure.lua',
);
export const readContactJsonScript = LuaScript.from(import.meta.url, 'lua/read-contact-record.lua');
export const readContactsJsonScript = LuaScript.from(import.meta.url, 'lua/read-contacts.lua');
export const consumeContactListPollRequestScript = LuaScript.from(
  import.meta.url,
  'lua/consume-contact-list-poll-request.lua',
);
export const readMessageRateHistogramScript = LuaScript.from(
  import.meta.url,
  'lua/read-message-rate-histogram.lua',
);
export const expeditePollScript = LuaScript.from(import.meta.url, 'lua/expedite-poll.lua');
export const expeditePollsOfRecipientsScript = LuaScript.from(
  import.meta.url,
  'lua/expedite-recipients.lua',
  LISTED_CONTACT_STATUS_BITS,
);
export const confirmDeletionsScript = LuaScript.from(import.meta.url, 'lua/confirm-deletions.lua');
