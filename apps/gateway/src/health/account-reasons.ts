import { accountKeys, type AccountKeys, type Reason, type ReasonCode, type RedisClient } from '#platform';

/** A contact list that fails for so long is not only having a bad moment. */
const LIST_FAILS_FOR_MS = 60_000;

/** Something that is wrong with one account, for those who may know of it. */
export interface AccountReason {
  account: string;
  code: ReasonCode;
  /** ISO 8601, or as it was noted. */
  since: string;
  reason: string;
}

/** What is wrong, for so many accounts. */
const WORDS = {
  upstream_down: (accounts) => `upstream does not answer for ${accounts}`,
  upstream_refused: (accounts) => `upstream does not accept the key of ${accounts}`,
  upstream_is_tidings: (accounts) => `upstream of ${accounts} is a Tidings gateway itself; sends are held`,
  contact_list_unreadable: (accounts) => `the contact list of ${accounts} cannot be read`,
  contacts_vanished: (accounts) =>
    `the contact list of ${accounts} lacks so many contacts that no deletion is believed`,
} as const satisfies Partial<Record<ReasonCode, (accounts: string) => string>>;

type AccountCode = keyof typeof WORDS;

/**
 * What is wrong with an account, by its hashes: `upstream` holds `unavailableSince` while upstream is down, and
 * `contact-list` says why the list cannot be read, and since when, and since when too many contacts are missing from it.
 * @param now by Redis' clock
 */
export async function accountReasons(
  redis: RedisClient,
  prefix: string,
  account: string,
  now: number,
): Promise<(AccountReason & { code: AccountCode })[]> {
  const keys: AccountKeys = accountKeys(prefix, account);
  const [[since, kind, reason], [fault, faultSince, suspectSince, believedAt]] = await Promise.all([
    redis.hmget(keys('upstream'), 'unavailableSince', 'kind', 'reason'),
    redis.hmget(keys('contact-list'), 'listFault', 'listFaultSince', 'suspectSince', 'believedAt'),
  ]);
  if (since != null) {
    return [{ account, code: codeOf(kind), since: readable(since), reason: reason ?? '' }];
  }
  // One reading that fails says little.
  if (fault != null && faultSince != null && now - Number(faultSince) >= LIST_FAILS_FOR_MS)
    return [{ account, code: 'contact_list_unreadable', since: readable(faultSince), reason: fault }];
  if (suspectSince == null || Number(believedAt ?? 0) >= Number(suspectSince)) return [];
  const words = 'upstream shows far fewer contacts than before';
  return [{ account, code: 'contacts_vanished', since: readable(suspectSince), reason: words }];
}

/** The same, with nothing but how many accounts each is about. */
export function countedReasons(found: readonly { code: AccountCode }[]): Reason[] {
  return (Object.keys(WORDS) as AccountCode[]).flatMap((code) => {
    const count = found.filter((one) => one.code === code).length;
    if (count === 0) return [];
    return [{ code, count, words: WORDS[code](count === 1 ? '1 account' : `${count} accounts`) }];
  });
}

function codeOf(kind: string | null | undefined): AccountCode {
  if (kind === 'loop') return 'upstream_is_tidings';
  return kind === 'refused' ? 'upstream_refused' : 'upstream_down';
}

/** Milliseconds or a date, as a date. */
function readable(since: string): string {
  const time = /^\d+$/.test(since) ? Number(since) : Date.parse(since);
  return Number.isNaN(time) || Math.abs(time) > 8.64e15 ? since : new Date(time).toISOString();
}
