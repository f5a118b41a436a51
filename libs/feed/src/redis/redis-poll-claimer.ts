import { eventLogRedisKeys } from '#events';
import { rowRedisKeys } from '#conversations';
import { accountKeys, CallBatcher, LuaScript, newId, type RedisClient } from '#platform';
import type { ClaimedPoll, ClaimReply } from '../poll/poll-queue.js';
import { parseContactStateLuaReply, contactStateOf } from './contact-state-reply.js';
import { parseNextDueTime, pollQueueRedisKeys } from './redis-poll-queue-keys.js';

const claimPollsScript = LuaScript.from(import.meta.url, 'lua/claim-polls.lua');

/** Reply of `claim-polls.lua`. Strings are Buffers. */
interface ClaimsReply {
  waitMs: number;
  nextDue: Buffer[];
  available: Buffer;
  isAvailable: number;
  claims: ClaimedReply[];
}

type ClaimedReply = [kind: Buffer, contactId: Buffer, overdueMs: Buffer, failures: Buffer, state: unknown[]];

/**
 * Reads of older messages get their full share of the requests (see `PollQueue.claim`) once the most urgent of
 * them has been overdue for this long, in milliseconds. If the sweep interval is shorter, it replaces this value.
 * Without the full share, reads of the newest messages could use up the budget, and sweeps would then take much
 * longer than the sweep interval.
 */
const MAX_FULL_SHARE_DELAY_MS = 3_600_000;

/** Maximum number of contacts that one script run claims. A running script blocks all other clients of Redis. */
const MAX_CLAIMS_A_RUN = 64;

/** Claims due contacts, together with the budget tokens for their first requests. See `PollQueue.claim`. */
export class RedisPollClaimer {
  /** Unique id of this object. Together with the number of claims it forms the unique id of a lease. */
  private readonly holder = newId('req');
  private claims = 0;
  /**
   * Combines the calls of `claim` for one account in one turn of the event loop into one script run. The input of
   * each call is the account's configured budget, in requests per second.
   */
  private readonly batches: CallBatcher<number, ClaimReply>;

  constructor(
    private readonly redis: RedisClient,
    private readonly prefix: string,
    /** How long a lease lasts without renewal, in milliseconds. */
    private readonly leaseMs: number,
    /** Whether the rows of conversations are stored and updated. */
    private readonly rowsKept: 'on' | 'off',
    /** Time between two sweeps of a contact, in milliseconds. */
    private readonly sweepMs: number,
  ) {
    this.batches = new CallBatcher((account, rates) => this.claimAll(account, rates), MAX_CLAIMS_A_RUN);
  }

  claim(account: string, rate: number): Promise<ClaimReply> {
    return this.batches.call(account, rate);
  }

  private async claimAll(account: string, rates: readonly number[]): Promise<ClaimReply[]> {
    const keys = accountKeys(this.prefix, account);
    const leasesOf = rates.map((_, index) => `${this.holder}.${this.claims + index + 1}`);
    this.claims += rates.length;
    const tokenRequestedAt = performance.now();
    const reply = (await claimPollsScript.runForBuffers(
      this.redis,
      {
        budget: keys('budget'),
        list: keys('contact-list'),
        contacts: keys('contacts'),
        log: eventLogRedisKeys(keys).log,
        logCounters: eventLogRedisKeys(keys).logCounters,
        rows: rowRedisKeys(keys).rows,
        upstream: keys('upstream'),
        ...pollQueueRedisKeys(keys),
      },
      {
        rate: Math.min(...rates),
        leaseMs: this.leaseMs,
        contactPrefix: keys('c', ''),
        messagesPrefix: keys('m', ''),
        fullShareMs: Math.min(this.sweepMs, MAX_FULL_SHARE_DELAY_MS),
        leasesOf,
      },
    )) as ClaimsReply;
    const nextDue = parseNextDueTime(reply.nextDue);
    const shared = { ...nextDue, tokenRequestedAt, availableForPolls: Number(String(reply.available)) };
    return leasesOf.map((lease, index): ClaimReply => {
      const claimed = reply.claims[index];
      if (claimed !== undefined)
        return { ...shared, claimed: this.claimedPoll(claimed, lease, reply.isAvailable === 1) };
      return reply.waitMs > 0 ? { waitMs: reply.waitMs } : nextDue;
    });
  }

  private claimedPoll(
    [kind, contactId, overdueMs, failures, values]: ClaimedReply,
    lease: string,
    isUpstreamAvailable: boolean,
  ): ClaimedPoll {
    const state = contactStateOf(parseContactStateLuaReply(values), this.rowsKept === 'on');
    return {
      kind: String(kind) === 'deep' ? 'deep' : 'head',
      contactId: String(contactId),
      overdueMs: Number(String(overdueMs)),
      consecutiveFailures: Number(String(failures)),
      lease,
      isUpstreamAvailable,
      ...(state === undefined ? {} : { state }),
    };
  }
}
