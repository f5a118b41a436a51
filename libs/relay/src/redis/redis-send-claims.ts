import type { AccountKeys, RedisClient } from '#platform';
import type { BoundSend } from '../send/relay-store.js';
import type { BoundMessage } from '../send/send-record.js';

/** Follows the send's id in the claim of a second message of one send. */
const DUPLICATE = 'duplicate';

/** The field of the claims that is a message's. Message ids may be unique within their contact only. */
export function claimField({ contactId, messageId }: BoundMessage): string {
  return JSON.stringify([contactId, messageId]);
}

/** What the claim of a message says. */
export function claimOf({ sendId, duplicate }: BoundSend): string {
  return duplicate === true ? `${sendId} ${DUPLICATE}` : sendId;
}

/** The sends that these messages of a contact are, by message id. */
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
