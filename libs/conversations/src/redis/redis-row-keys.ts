import type { AccountKeys } from '#platform';

/**
 * Redis keys of an account's conversation rows, by the names that Lua scripts use for them.
 *
 * - `rows`: hash from a contact's id to the part of its conversation row that is derived from the contact's messages
 *   and fields, as JSON. Fields:
 *   - `m`: last message (time, id, direction, preview). Directions: `i` inbound, `o` outbound, `n` other.
 *   - `o`: last outbound message (time, id).
 *   - `w`: inbound messages after the last outbound message (time, id, 1 if unread, else 0): the first one and the
 *     latest ones.
 *   - `n`: phone numbers in the messages, the number of the last message first.
 *   - `c`: phone numbers in the contact's fields.
 *   - `k`: search words of the contact's fields, as one text with a space before each word.
 *   - `r`: phone number whose row was replaced by the contact's row.
 *   - `v`: revision.
 * - `rowOrder`: sorted set of the ids of all conversation rows by their last activity, in milliseconds since 1970; 0
 *   without any activity.
 * - `rowSends`: hash from a phone number to the part of a row that is derived from the sends to it, as JSON. Fields:
 *   - `p`: number of pending sends.
 *   - `f`: number of failed sends.
 *   - `s`: the latest sends to which no message is bound yet (time, id, preview), the newest first.
 *   - `v`: revision.
 * - `rowWords`: sorted set of search words, each followed by a zero byte and the id of its row. For a phone number,
 *   the words are `+` with its digits, and `-` with its digits in reverse order.
 * - `rowRevision`: the latest revision that was assigned, over all rows of the account.
 * - `numbers`: hash from a phone number to its most likely contact.
 */
export type RowKeys = Readonly<
  Record<'rows' | 'rowOrder' | 'rowSends' | 'rowWords' | 'rowRevision' | 'numbers', string>
>;

/** Returns the Redis keys that every script that includes `rows.lua` needs. */
export function rowRedisKeys(keys: AccountKeys): RowKeys {
  return {
    rows: keys('conversations'),
    rowOrder: keys('conversations', 'order'),
    rowSends: keys('conversations', 'sends'),
    rowWords: keys('conversations', 'words'),
    rowRevision: keys('conversations', 'revision'),
    numbers: keys('numbers'),
  };
}

/**
 * Returns the Redis channel on which changes of an account's conversation rows and of the statuses of its sends are
 * published.
 */
export function channelOfConversationChanges(keys: AccountKeys): string {
  return `${rowRedisKeys(keys).rows}:changes`;
}
