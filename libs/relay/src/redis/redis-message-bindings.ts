import { type AccountKeys, isTraceContext, type RedisClient } from '#platform';
import type { BoundSend } from '../send/relay-store.js';
import type { BoundMessage } from '../send/send-record.js';

/**
 * For each message of a send, Redis stores a value of several words. This word means that the send already had
 * another message.
 */
const DUPLICATE = 'duplicate';

/**
 * Returns the field of a message in the Redis hash that maps messages to sends. The field contains the contact's id,
 * because message ids may be unique only within a contact.
 */
export function messageBindingRedisHashField({ contactId, messageId }: BoundMessage): string {
  return JSON.stringify([contactId, messageId]);
}

/**
 * For each message of a send, Redis stores a value of several words. The word with this prefix contains the send's
 * reference.
 */
const REFERENCE = 'reference=';

/**
 * Returns the value that Redis stores for a message, to record which send the message belongs to. The value consists
 * of words, separated by spaces: the send's id, `duplicate` if the send already had another message, the send's
 * reference and its trace, if it has them. Earlier builds read only the first two words.
 */
export function messageBindingRedisHashValue({ sendId, duplicate, reference, trace }: BoundSend): string {
  return [
    sendId,
    ...(duplicate === true ? [DUPLICATE] : []),
    ...(reference === undefined ? [] : [REFERENCE + Buffer.from(reference).toString('base64url')]),
    ...(trace === undefined ? [] : [trace]),
  ].join(' ');
}

/**
 * Returns the sends that these messages of a contact belong to, by message id. Leaves out messages without a send.
 */
export async function readSendsOfMessages(
  redis: RedisClient,
  keys: AccountKeys,
  contactId: string,
  messageIds: readonly string[],
): Promise<Map<string, BoundSend>> {
  if (messageIds.length === 0) return new Map();
  const fields = messageIds.map((messageId) => messageBindingRedisHashField({ contactId, messageId }));
  const claims = await redis.hmget(keys('claims'), ...fields);
  return new Map(
    messageIds.flatMap((id, i): [string, BoundSend][] => {
      const value = claims[i];
      return typeof value === 'string' ? [[id, parseBinding(value)]] : [];
    }),
  );
}

function parseBinding(value: string): BoundSend {
  const [sendId = '', ...rest] = value.split(' ');
  const reference = rest.find((word) => word.startsWith(REFERENCE))?.slice(REFERENCE.length);
  const trace = rest.find(isTraceContext);
  return {
    sendId,
    ...(rest.includes(DUPLICATE) ? { duplicate: true } : {}),
    ...(reference === undefined ? {} : { reference: Buffer.from(reference, 'base64url').toString() }),
    ...(trace === undefined ? {} : { trace }),
  };
}
