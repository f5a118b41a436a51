import { accountKeys, type AccountKeys, LuaScript, newId, type RedisClient } from '#platform';
import {
  type ClaimedPoll,
  type ClaimReply,
  FAILED_READ_BACKOFF_MS,
  POSTPONED_READ_DELAY_MS,
  POLL_LEASE_MS,
  type EndedClaim,
  type NextDue,
  type PollQueue,
  type PollOutcome,
} from '../poll/poll-queue.js';

const claim = LuaScript.from(import.meta.url, 'lua/claim-poll.lua');

const renew = LuaScript.from(import.meta.url, 'lua/renew-polls.lua');

const endClaim = LuaScript.from(import.meta.url, 'lua/end-poll.lua');

/** Implements {@link PollQueue} with Redis. */
export class RedisPollQueue implements PollQueue {
  /** Unique id of this object. Together with the number of claims it forms the unique id of a lease. */
  private readonly holder = newId('req');
  private claims = 0;

  constructor(
    private readonly redis: RedisClient,
    private readonly prefix: string,
    private readonly leaseMs = POLL_LEASE_MS,
  ) {}

  async claim(account: string, rate: number): Promise<ClaimReply> {
    const keys = this.keys(account);
    this.claims += 1;
    const lease = `${this.holder}.${this.claims}`;
    const tokenRequestedAt = performance.now();
    const [outcome, ...rest] = (await claim.run(
      this.redis,
      { budget: keys('budget'), ...this.queueKeys(account) },
      { rate, leaseMs: this.leaseMs, lease, contactPrefix: keys('c', '') },
    )) as string[];
    if (outcome === 'wait') return { waitMs: Number(rest[0]) };
    if (outcome === 'idle') return nextDueOf(rest);
    const [kind, contactId = '', overdueMs, consecutiveFailures, available, ...nextDue] = rest;
    return {
      ...nextDueOf(nextDue),
      claimed: {
        kind: kind === 'deep' ? 'deep' : 'head',
        contactId,
        overdueMs: Number(overdueMs),
        consecutiveFailures: Number(consecutiveFailures),
        lease,
      },
      tokenRequestedAt,
      availableForPolls: Number(available),
    };
  }

  async renew(account: string, claims: readonly ClaimedPoll[]): Promise<ClaimedPoll[]> {
    if (claims.length === 0) return [];
    const lost = (await renew.run(this.redis, this.queueKeys(account), {
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
    const { dueIn, nextDue } = (await endClaim.run(
      this.redis,
      { contact: keys('c', contactId), ...this.queueKeys(account) },
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
    return { ...nextDueOf(nextDue), ...(dueIn < 0 ? {} : { dueAgainInMs: dueIn }) };
  }

  private queueKeys(account: string): { due: string; deep: string; leases: string; leased: string } {
    const keys = this.keys(account);
    return {
      due: keys('polls', 'due'),
      deep: keys('polls', 'deep'),
      leases: keys('polls', 'leases'),
      leased: keys('polls', 'leased'),
    };
  }

  private keys(account: string): AccountKeys {
    return accountKeys(this.prefix, account);
  }
}

function nextDueOf([at, inMs]: readonly string[]): NextDue {
  return at === undefined || inMs === undefined ? {} : { nextDueAt: Number(at), nextDueInMs: Number(inMs) };
}
