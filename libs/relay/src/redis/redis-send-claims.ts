import type { AccountKeys, RedisClient } from '#platform';
import type { BoundSend } from '../send/relay-store.js';
import type { BoundMessage } from '../send/send-record.js';

/** Suffix of the stored send id if the message is not the first message of its send. */
const DUPLICATE = 'duplicate';

/**
 * Returns the field of a message in the Redis hash that maps messages to sends. The field contains the contact's id,
 * because message ids may be unique only within a contact.
 */
export function messageBindingField({ contactId, messageId }: BoundMessage): string {
  return JSON.stringify([contactId, messageId]);
}

/** Returns the value that records which send a message belongs to. */
export function messageBindingValue({ sendId, duplicate }: BoundSend): string {
  return duplicate === true ? `${sendId} ${DUPLICATE}` : sendId;
}

/** Returns the sends that these messages of a contact belong to, by message id. */
export async function readSendsOfMessages(
  redis: RedisClient,
  keys: AccountKeys,
  contactId: string,
  messageIds: readonly string[],
): Promise<Map<string, BoundSend>> {
  if (messageIds.length === 0) return new Map();
  const fields = messageIds.map((messageId) => messageBindingField({ contactId, messageId }));
  const claims = await redis.hmget(keys('claims'), ...fields);
  return new Map(
    messageIds.flatMap((id, i): [string, BoundSend][] => {
      const [sendId, duplicate] = claims[i]?.split(' ') ?? [];
      if (sendId === undefined) return [];
      return [[id, { sendId, ...(duplicate === DUPLICATE ? { duplicate: true } : {}) }]];
    }),
  );
}
