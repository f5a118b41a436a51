import type { Account } from '#accounts';
import { accountKeys, type AccountKeys, type Reason, type ReasonCode, type RedisClient } from '#platform';

/** Time for which reads of the contact list must fail before that is reported, in milliseconds. */
const LIST_FAILS_FOR_MS = 60_000;
/**
 * Minimum time from the first to the last failed poll of messages until that is reported, in milliseconds. During an
 * outage nothing is polled, so that an outage alone is not reported as unreadable messages, however long it lasts.
 */
const MESSAGES_FAIL_FOR_MS = 60_000;
/** Minimum number of failed polls of messages until that is reported. */
const MIN_FAILED_POLLS = 5;
/**
 * Time after the last failed poll until that is no longer reported, in milliseconds. A contact whose polls fail is polled
 * at least every five minutes. So either the account is no longer polled, or only workers of an earlier build poll it,
 * whose commits do not delete what was stored about failed polls.
 */
const FAILED_POLLS_EXPIRE_MS = 900_000;
/**
 * Maximum number of contacts with missing messages that are read. Readiness is checked every second, and the messages of
 * all contacts may be missing.
 */
const MAX_SUSPECTS = 1_000;

/** A problem of one account. Only callers who may see the account get it. */
export interface AccountReason {
  account: string;
  code: ReasonCode;
  /** Start of the problem in ISO 8601, or the stored text if that is no date. */
  since: string;
  reason: string;
}

/** The description of each problem, for a text such as `1 account` or `3 accounts`. */
const WORDS = {
  upstream_down: (accounts) => `the messaging service of ${accounts} is unavailable`,
  upstream_refused: (accounts) => `the messaging service rejects the API key of ${accounts}`,
  upstream_is_tidings: (accounts) =>
    `the base address of ${accounts} points to a Tidings gateway instead of the messaging service; sends are not relayed`,
  contact_list_unreadable: (accounts) => `the contact list of ${accounts} cannot be read`,
  messages_unreadable: (accounts) => `the messages of ${accounts} cannot be read`,
  contacts_vanished: (accounts) =>
    `too many contacts of ${accounts} disappeared at once; these contacts are not reported as deleted`,
  messages_vanished: (accounts) =>
    `too many messages of a contact of ${accounts} disappeared at once; these messages are not reported as deleted`,
} as const satisfies Partial<Record<ReasonCode, (accounts: string) => string>>;

type AccountCode = keyof typeof WORDS;

/**
 * Reads the problems of one account from its Redis hashes. `upstream` has `unavailableSince` while upstream is
 * down. `contact-list` has the fault and its start while the list cannot be read, and the time from which too many
 * contacts were missing from the list. `polls:facts` has the times and the number of failed polls of messages since the
 * last success. `suspects` has the time since which too many messages of a contact are missing, for each such contact,
 * of which at most {@link MAX_SUSPECTS} are read. `lanes:due` has the recipients with waiting sends.
 * @param now Redis time, in milliseconds since 1970
 */
export async function accountReasons(
  redis: RedisClient,
  prefix: string,
  { id: account, polling }: Pick<Account, 'id' | 'polling'>,
  now: number,
): Promise<(AccountReason & { code: AccountCode })[]> {
  const keys: AccountKeys = accountKeys(prefix, account);
  const [outageFields, listFields, pollFields, suspects, lanes] = await Promise.all([
    redis.hmget(keys('upstream'), 'unavailableSince', 'kind', 'reason', 'request'),
    redis.hmget(keys('contact-list'), 'listFault', 'listFaultSince', 'suspectSince', 'believedAt'),
    redis.hmget(keys('polls', 'facts'), 'failedSince', 'failedAt', 'failures'),
    redis.hrandfield(keys('suspects'), MAX_SUSPECTS, 'WITHVALUES'),
    redis.zcard(keys('lanes', 'due')),
  ]);
  const outage = outageOf(outageFields);
  const isListUsed = usesContactList({ polling }, { lanes: { count: lanes } });
  const list =
    outage === undefined && isListUsed ? listProblemOf(listFields, valuesOf(suspects), now) : undefined;
  const isListReadable = list?.code !== 'contact_list_unreadable';
  // An outage explains failed polls, unless it began with a failed read of messages: other requests may still
  // succeed.
  const [, , , failedRequest] = outageFields;
  const isExplained = outage !== undefined && failedRequest !== 'messages';
  const messages = polling && isListReadable && !isExplained ? failedPollsOf(pollFields, now) : undefined;
  return [outage, list, messages].flatMap((problem) =>
    problem === undefined ? [] : [{ account, ...problem, since: readable(problem.since) }],
  );
}

/** Returns the values of a reply with fields and their values: pairs, or one after the other in an older protocol. */
function valuesOf(reply: string | unknown[] | null): string[] {
  if (!Array.isArray(reply)) return [];
  return reply
    .flat()
    .filter((_, index) => index % 2 === 1)
    .map(String);
}

/** A problem as it is stored: `since` is a time in milliseconds since 1970, or any text. */
type Problem = Omit<AccountReason, 'account'> & { code: AccountCode };

/** Fields of a hash; null if a field is missing. */
type Fields = readonly (string | null)[];

function outageOf([since, kind, reason]: Fields): Problem | undefined {
  return since == null ? undefined : { code: codeOf(kind), since, reason: reason ?? '' };
}

function listProblemOf(
  [fault, faultSince, suspectSince, deletionsConfirmedAt]: Fields,
  suspects: readonly string[],
  now: number,
): Problem | undefined {
  // A single failed read is not reported.
  if (fault != null && faultSince != null && now - Number(faultSince) >= LIST_FAILS_FOR_MS)
    return { code: 'contact_list_unreadable', since: faultSince, reason: fault };
  const isUnconfirmed = (time: string): boolean => Number(time) > Number(deletionsConfirmedAt ?? 0);
  if (suspectSince != null && isUnconfirmed(suspectSince)) {
    const reason = 'the messaging service lists far fewer contacts than before';
    return { code: 'contacts_vanished', since: suspectSince, reason };
  }
  const [oldest] = suspects.filter(isUnconfirmed).sort((a, b) => Number(a) - Number(b));
  if (oldest === undefined) return undefined;
  const reason = 'the messaging service lists far fewer messages of a contact than before';
  return { code: 'messages_vanished', since: oldest, reason };
}

function failedPollsOf([since, lastAt, count]: Fields, now: number): Problem | undefined {
  if (since == null || Number(count) < MIN_FAILED_POLLS) return undefined;
  if (Number(lastAt) - Number(since) < MESSAGES_FAIL_FOR_MS) return undefined;
  if (now - Number(lastAt) >= FAILED_POLLS_EXPIRE_MS) return undefined;
  return { code: 'messages_unreadable', since, reason: 'every poll of messages has failed since then' };
}

/**
 * True if the contact list of an account is in use: for polls, or for look-ups of the sends in its lanes. If the list
 * is not in use, no read notices that a fault of the list has ended.
 */
export function usesContactList(
  settings: Pick<Account, 'polling'> | undefined,
  { lanes }: { lanes: { count: number } },
): boolean {
  return settings?.polling === true || lanes.count > 0;
}

/** Groups account problems by code and counts the accounts, without naming them. */
export function countedReasons(found: readonly { code: AccountCode }[]): Reason[] {
  return (Object.keys(WORDS) as AccountCode[]).flatMap((code) => {
    const count = found.filter((one) => one.code === code).length;
    if (count === 0) return [];
    return [{ code, count, description: WORDS[code](count === 1 ? '1 account' : `${count} accounts`) }];
  });
}

function codeOf(kind: string | null | undefined): AccountCode {
  if (kind === 'loop') return 'upstream_is_tidings';
  return kind === 'refused' ? 'upstream_refused' : 'upstream_down';
}

/** Converts milliseconds since 1970 or a date to ISO 8601. Any other text is returned unchanged. */
function readable(since: string): string {
  const time = /^\d+$/.test(since) ? Number(since) : Date.parse(since);
  return Number.isNaN(time) || Math.abs(time) > 8.64e15 ? since : new Date(time).toISOString();
}
