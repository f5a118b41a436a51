import { accountKeys, LuaScript, type RedisClient } from '#platform';
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
import { pollStatisticsRedisKey } from '../delay/redis-poll-report.js';
import { RedisPollClaimer } from './redis-poll-claimer.js';
import { parseNextDueTime, pollQueueRedisKeys } from './redis-poll-queue-keys.js';

const renewPollsScript = LuaScript.from(import.meta.url, 'lua/renew-polls.lua');

const endClaimScript = LuaScript.from(import.meta.url, 'lua/end-poll.lua');

/** Implements {@link PollQueue} with Redis. */
export class RedisPollQueue implements PollQueue {
  private readonly claimer: RedisPollClaimer;

  constructor(
    private readonly redis: RedisClient,
    private readonly prefix: string,
    private readonly leaseMs = POLL_LEASE_MS,
    /** Whether the rows of conversations are stored and updated. */
    rowsKept: 'on' | 'off' = 'on',
    /** Time between two sweeps of a contact, in milliseconds. */
    sweepMs = Infinity,
  ) {
    this.claimer = new RedisPollClaimer(redis, prefix, leaseMs, rowsKept, sweepMs);
  }

  claim(account: string, rate: number): Promise<ClaimReply> {
    return this.claimer.claim(account, rate);
  }

  async renew(account: string, claims: readonly ClaimedPoll[]): Promise<ClaimedPoll[]> {
    if (claims.length === 0) return [];
    const lost = (await renewPollsScript.run(
      this.redis,
      pollQueueRedisKeys(accountKeys(this.prefix, account)),
      {
        leaseMs: this.leaseMs,
        claims: claims.flatMap(({ kind, contactId, lease }) => [kind, contactId, lease]),
      },
    )) as number[];
    return lost.flatMap((index) => claims[index] ?? []);
  }

  async end(
    account: string,
    { kind, contactId, lease }: ClaimedPoll,
    outcome: PollOutcome,
  ): Promise<EndedClaim> {
    const keys = accountKeys(this.prefix, account);
    const { dueIn, nextDue } = (await endClaimScript.run(
      this.redis,
      { contact: keys('c', contactId), facts: pollStatisticsRedisKey(keys), ...pollQueueRedisKeys(keys) },
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
}
