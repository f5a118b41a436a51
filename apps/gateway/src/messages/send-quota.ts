import type { Principal } from '#accounts';
import type { SendQuota } from '#relay';
import { contactSetOf } from './idempotency-key.js';

/** Maximum number of unfinished sends of restricted tokens that have the same API key and contacts. */
export const MAX_UNFINISHED_SENDS = 100;

/**
 * Returns the quota of a caller with a restricted token, which may be in the hands of anyone who opens a page: its
 * scheduled sends and their files must not fill Redis and the blob store. A new token of the same API key for the
 * same contacts does not get a new quota. Other callers have no quota.
 */
export function quotaOf({ keyId, contactIds }: Principal): SendQuota | undefined {
  if (contactIds === undefined) return undefined;
  return { holder: `${keyId}\n${contactSetOf(contactIds)}`, maxUnfinished: MAX_UNFINISHED_SENDS };
}
