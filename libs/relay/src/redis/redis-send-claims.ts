import type { AccountKeys, RedisClient } from '#platform';
import type { BoundSend } from '../send/relay-store.js';
import type { BoundMessage } from '../send/send-record.js';

/** Marks the claim of a second message of a send; follows the send's id. */
const DUPLICATE = 'duplicate';

/** Returns the field of a message in the claims hash. Message ids may be unique only within their contact. */
export function claimField({ contactId, messageId }: BoundMessage): string {
  return JSON.stringify([contactId, messageId]);
}

/** Returns the value of a message's claim. */
export function claimValue({ sendId, duplicate }: BoundSend): string {
  return duplicate === true ? `${sendId} ${DUPLICATE}` : sendId;
}

/** Returns the sends that these messages of a contact belong to, by message id. */
export async function readClaims(
  redis: RedisClient,
  keys: AccountKeys,
  contactId: string,
  messageIds: readonly string[],
): Promise<Map<string, BoundSend>> {
  if (messageIds.length === 0) return new Map();
  const fields = messageIds.map((messageId) => claimField({ contactId, messageId }));
  const claims = await redis.hmget(keys('claims'), ...fields);
  return new Map(
    messageIds.flatMap((id, i): [string, BoundSend][] => {
      const [sendId, duplicate] = claims[i]?.split(' ') ?? [];
      if (sendId === undefined) return [];
      return [[id, { sendId, ...(duplicate === DUPLICATE ? { duplicate: true } : {}) }]];
    }),
  );
}
