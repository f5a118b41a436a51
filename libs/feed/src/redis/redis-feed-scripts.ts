import { LuaScript } from '#platform';
import { LISTED_CONTACT_STATUS_BITS } from '../snapshot/listed-contact-codec.js';
import { POLL_REPORT_LUA_CONSTANTS } from '../delay/redis-poll-report.js';

/*
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

/** Reads the stored state of the contact list. */
export const readContactListStateScript = LuaScript.from(import.meta.url, 'lua/read-list.lua');
/**
 * Reads the polling state of a contact. If the stored record of a listed contact was lost, creates an empty record.
 */
export const readContactPollStateScript = LuaScript.from(import.meta.url, 'lua/read-contact.lua');
/** Commits a poll of a contact with its snapshots, schedule and events in one atomic step. */
export const commitPollScript = LuaScript.from(
  import.meta.url,
  'lua/commit-poll.lua',
  POLL_REPORT_LUA_CONSTANTS,
);
/** Commits polls of contacts that found nothing new, and ends their claims. */
export const commitUnchangedPollsScript = LuaScript.from(
  import.meta.url,
  'lua/commit-unchanged-polls.lua',
  POLL_REPORT_LUA_CONSTANTS,
);
/** Commits a part of a contact list with its events in one atomic step. */
export const commitContactsScript = LuaScript.from(import.meta.url, 'lua/commit-contacts.lua');
/** Records why the contact list could not be read. */
export const recordContactListFailureScript = LuaScript.from(
  import.meta.url,
  'lua/record-contact-list-failure.lua',
);
/** Reads a contact as JSON, and its revision. */
export const readContactJsonScript = LuaScript.from(import.meta.url, 'lua/read-contact-record.lua');
/** Reads contacts as JSON. */
export const readContactsJsonScript = LuaScript.from(import.meta.url, 'lua/read-contacts.lua');
/** Clears the request to read the contact list, and returns whether there was one. */
export const consumeContactListPollRequestScript = LuaScript.from(
  import.meta.url,
  'lua/consume-contact-list-poll-request.lua',
);
/** Reads the histogram of the contacts' message rates. */
export const readMessageRateHistogramScript = LuaScript.from(
  import.meta.url,
  'lua/read-message-rate-histogram.lua',
);
/** Makes a contact due earlier, if it is scheduled. */
export const expeditePollScript = LuaScript.from(import.meta.url, 'lua/expedite-poll.lua');
/**
 * Makes the contacts to which phone numbers most likely belong due earlier, if they are scheduled. Requests a read of
 * the contact list if a phone number belongs to no known contact.
 */
export const expeditePollsOfRecipientsScript = LuaScript.from(
  import.meta.url,
  'lua/expedite-recipients.lua',
  LISTED_CONTACT_STATUS_BITS,
);
/** Records that an administrator has confirmed the suspect deletions of the account. */
export const confirmDeletionsScript = LuaScript.from(import.meta.url, 'lua/confirm-deletions.lua');
