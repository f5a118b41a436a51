import { eventLogRedisKeys } from '#events';
import { rowRedisKeys } from '#conversations';
import { accountKeys, type AccountKeys, CallBatcher, LuaScript, newId, type RedisClient } from '#platform';
import {
  type ClaimedPoll,
  type ClaimReply,
  FAILED_READ_BACKOFF_MS,
  POSTPONED_READ_DELAY_MS,
  POLL_LEASE_MS,
  type EndedClaim,
  type PollQueue,
  type PollOutcome,
} from '../poll/poll-queue.js';
import { parseContactStateLuaReply, contactStateOf } from './contact-state-reply.js';
import { parseNextDueTime, pollQueueRedisKeys } from './redis-poll-queue-keys.js';

const claimPollsScript = LuaScript.from(import.meta.url, 'lua/claim-polls.lua');

const renewPollsScript = LuaScript.from(import.meta.url, 'lua/renew-polls.lua');

const endClaimScript = LuaScript.from(import.meta.url, 'lua/end-poll.lua');

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
 * Reads of older messages get their full share of the requests (see {@link PollQueue.claim}) once the most urgent of
 * them has been overdue for this long, in milliseconds. If the sweep interval is shorter, it replaces this value.
 * Without the full share, reads of the newest messages could use up the budget, and sweeps would then take much
 * longer than the sweep interval.
 */
const MAX_FULL_SHARE_DELAY_MS = 3_600_000;

/** Maximum number of contacts that one script run claims. A running script blocks all other clients of Redis. */
const MAX_CLAIMS_A_RUN = 64;

/** Implements {@link PollQueue} with Redis. */
export class RedisPollQueue implements PollQueue {
  /** Unique id of this object. Together with the number of claims it forms the unique id of a lease. */
  private readonly holder = newId('req');
  private claims = 0;
  /**
   * Combines the calls of `claim` in one turn of the event loop into one script run. The input of each call
   * is the account's configured budget, in requests per second.
   */
  private readonly batches: CallBatcher<number, ClaimReply>;

  constructor(
    private readonly redis: RedisClient,
    private readonly prefix: string,
    private readonly leaseMs = POLL_LEASE_MS,
    /** Whether the rows of conversations are stored and updated. */
    private readonly rowsKept: 'on' | 'off' = 'on',
    /** Time between two sweeps of a contact, in milliseconds. */
    private readonly sweepMs = MAX_FULL_SHARE_DELAY_MS,
  ) {
    this.batches = new CallBatcher((account, rates) => this.claimAll(account, rates), MAX_CLAIMS_A_RUN);
  }

  claim(account: string, rate: number): Promise<ClaimReply> {
    return this.batches.call(account, rate);
  }

  private async claimAll(account: string, rates: readonly number[]): Promise<ClaimReply[]> {
    const keys = this.keys(account);
    const leasesOf = rates.map((_, place) => `${this.holder}.${this.claims + place + 1}`);
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
    return leasesOf.map((lease, place): ClaimReply => {
      const claimed = reply.claims[place];
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

  async renew(account: string, claims: readonly ClaimedPoll[]): Promise<ClaimedPoll[]> {
    if (claims.length === 0) return [];
    const lost = (await renewPollsScript.run(this.redis, pollQueueRedisKeys(this.keys(account)), {
      leaseMs: this.leaseMs,
      claims: claims.flatMap(({ kind, contactId, lease }) => [kind, contactId, lease]),
    })) as number[];
    return lost.flatMap((place) => claims[place] ?? []);
  }

  async end(
    account: string,
    { kind, contactId, lease }: ClaimedPoll,
    outcome: PollOutcome,
  ): Promise<EndedClaim> {
    const keys = this.keys(account);
    const { dueIn, nextDue } = (await endClaimScript.run(
      this.redis,
      { contact: keys('c', contactId), ...pollQueueRedisKeys(this.keys(account)) },
      {
        kind,
        id: contactId,
        lease,
        outcome: outcome,
        firstBackoff: FAILED_READ_BACKOFF_MS.first,
        maxBackoff: FAILED_READ_BACKOFF_MS.max,
        postponedMs: POSTPONED_READ_DELAY_MS,
      },
    )) as { dueIn: number; nextDue: string[] };
    return { ...parseNextDueTime(nextDue), ...(dueIn < 0 ? {} : { dueAgainInMs: dueIn }) };
  }

  private keys(account: string): AccountKeys {
    return accountKeys(this.prefix, account);
  }
}
