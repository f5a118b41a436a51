import { type AccountKeys, type RedisClient, RedisScript } from '#platform';
import type { Recipient } from '../feed-store.js';
import { unpackListedContact } from '../snapshot/listed-contact-codec.js';

/** So many contacts are kept of one number: of a switchboard's that many contacts name, those that wrote last. */
const MAX_CONTACTS = 20;

/**
 * How scripts note whose number it is. KEYS `numbers`: a hash from a number to the contact that it belongs to most likely, as
 * all builds know it; `others`: a hash from a number to its other contacts, the likeliest first, as JSON.
 *
 *     note_number(numbers, others, number, contact id, is shown by a message)
 *
 * A message from or to the number says more than a contact's field that holds it: that may be who recommended them.
 */
export const NOTE_NUMBER = `
local function note_number(numbers, others, number, id, by_message)
  local first = redis.call('HGET', numbers, number)
  if first == id then return end
  if not first then return redis.call('HSET', numbers, number, id) end
  local before = redis.call('HGET', others, number)
  local kept, was_kept = {}, false
  for _, other in ipairs(before and cjson.decode(before) or {}) do
    if other == id then was_kept = true else kept[#kept + 1] = other end
  end
  if by_message then
    table.insert(kept, 1, first)
    redis.call('HSET', numbers, number, id)
  elseif was_kept then return
  else kept[#kept + 1] = id end
  for n = #kept, ${MAX_CONTACTS}, -1 do kept[n] = nil end
  redis.call('HSET', others, number, cjson.encode(kept))
end
`;

/**
 * KEYS: numbers, others, contacts, list. ARGV: number. Answers when the list was last read, since when it is suspect, when that
 * was last believed, then (contact id, as listed)….
 */
const readRecipient = new RedisScript(`
local list = redis.call('HMGET', KEYS[4], 'readAt', 'suspectSince', 'believedAt')
local reply = {list[1] or '', list[2] or '', list[3] or ''}
local function add(id)
  reply[#reply + 1] = id
  reply[#reply + 1] = redis.call('HGET', KEYS[3], id) or ''
end
local first = redis.call('HGET', KEYS[1], ARGV[1])
if first then add(first) end
for _, other in ipairs(cjson.decode(redis.call('HGET', KEYS[2], ARGV[1]) or '[]')) do
  if other ~= first then add(other) end
end
return reply
`);

/** Who a phone number belongs to, as far as lists and messages have shown it. */
export async function recipientOf(
  redis: RedisClient,
  keys: AccountKeys,
  phoneNumber: string,
): Promise<Recipient> {
  const [readAt, suspectSince, believedAt, ...rest] = (await readRecipient.runForBuffers(
    redis,
    [...recipientKeys(keys), keys('contacts'), keys('contact-list')],
    [phoneNumber],
  )) as Buffer[];
  const contacts: Recipient['contacts'][number][] = [];
  for (let i = 0; i + 1 < rest.length; i += 2) {
    const [id, listed] = [rest[i], rest[i + 1]];
    if (id === undefined || listed === undefined) continue;
    const { deleted, missingSince } = unpackListedContact(listed);
    if (!deleted) contacts.push({ id: id.toString(), isMissing: missingSince !== undefined });
  }
  const [listReadAt, suspect, believed] = [readAt, suspectSince, believedAt].map(timeOf);
  return {
    contacts,
    ...(listReadAt === undefined ? {} : { listReadAt }),
    isListDoubted: suspect !== undefined && (believed ?? 0) < suspect,
  };
}

function timeOf(text: Buffer | undefined): number | undefined {
  return text === undefined || text.length === 0 ? undefined : Number(text.toString());
}

/** The keys of what {@link NOTE_NUMBER} writes. */
export function recipientKeys(keys: AccountKeys): [numbers: string, others: string] {
  return [keys('numbers'), keys('numbers', 'others')];
}
