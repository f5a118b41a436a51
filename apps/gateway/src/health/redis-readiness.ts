import { Inject, Injectable } from '@nestjs/common';
import { type Account, type AccountDirectory } from '#accounts';
import {
  accountKeys,
  type GatewayEnvironment,
  missingRoles,
  type RedisClient,
  type RedisClock,
  redisTime,
  withDeadline,
  type WorkerRole,
} from '#platform';
import type { BlobStoreWatch } from '#relay';
import { ACCOUNTS, BLOB_WATCH, CLOCK, ENVIRONMENT, REDIS, SHUTDOWN } from '../tokens.js';

/** Whether sends can be stored; what else is amiss, in words. */
export interface Readiness {
  status: 'ok' | 'degraded' | 'unavailable';
  reasons: string[];
}

const PROBE_WITHIN_MS = 1_000;
const KEPT_MS = 1_000;
const PROBE_LIVES_MS = 60_000;

/** A contact list that fails for so long is not only having a bad moment. */
const LIST_FAILS_FOR_MS = 60_000;

/** What does not happen without a worker of this role. */
const WITHOUT_ROLE: Readonly<Record<WorkerRole, string>> = {
  relay: 'sends are stored, but not relayed',
  poll: 'nothing is polled, so that there are no events of messages',
  dispatch: 'no webhook is delivered',
};

/** A worker that has not been heard of for so long counts as gone. */
const WORKER_SEEN_WITHIN_MS = 15_000;

/**
 * Finds out by a real write, at most once a second, however many ask.
 *
 * Workers note their beats in the sorted set `{prefix}:workers` (member: a worker's name and roles; score: milliseconds of
 * Redis' clock); the account's hash `upstream` holds `unavailableSince` while upstream is down, and its hash `contact-list`
 * says why the list cannot be read, and since when.
 */
@Injectable()
export class RedisReadiness {
  private last: { at: number; readiness: Promise<Readiness> } | undefined;

  constructor(
    @Inject(REDIS) private readonly redis: RedisClient,
    @Inject(ENVIRONMENT) private readonly environment: GatewayEnvironment,
    @Inject(ACCOUNTS) private readonly accounts: AccountDirectory,
    @Inject(BLOB_WATCH) private readonly blobs: BlobStoreWatch,
    @Inject(CLOCK) private readonly clock: Pick<RedisClock, 'fault' | 'now'>,
    @Inject(SHUTDOWN) private readonly shutdown: AbortSignal,
  ) {}

  async check(): Promise<Readiness> {
    if (this.shutdown.aborted) return { status: 'unavailable', reasons: ['the gateway is stopping'] };
    const now = performance.now();
    if (this.last === undefined || now - this.last.at > KEPT_MS) {
      this.last = { at: now, readiness: this.probe() };
    }
    return await this.last.readiness;
  }

  private async probe(): Promise<Readiness> {
    try {
      const reasons = await withDeadline(this.writeAndLook(), PROBE_WITHIN_MS, 'the write probe');
      return { status: reasons.length === 0 ? 'ok' : 'degraded', reasons };
    } catch (error) {
      const words = error instanceof Error ? error.message : String(error);
      return { status: 'unavailable', reasons: [`Redis cannot be written: ${words}`] };
    }
  }

  private async writeAndLook(): Promise<string[]> {
    const prefix = this.environment.REDIS_KEY_PREFIX;
    const accounts = await this.accounts.list();
    // Where each account's sends are stored: on a Cluster that is one master of several.
    const probes = accounts.map(({ id }) => accountKeys(prefix, id)('health', 'probe'));
    await Promise.all(probes.map((probe) => this.redis.set(probe, '1', 'PX', PROBE_LIVES_MS)));
    const beats = `${prefix}:workers`;
    const since = (await redisTime(this.redis, beats)) - WORKER_SEEN_WITHIN_MS;
    const workers = await this.redis.zrangebyscore(beats, since, '+inf');
    const [persistence, ...downs] = await Promise.all([
      this.persistenceReason(),
      ...accounts.map((account) => this.downReason(account)),
    ]);
    return [
      ...(workers.length === 0
        ? [`no worker was seen in the last ${WORKER_SEEN_WITHIN_MS / 1000} seconds`]
        : missingRoles(workers).map((role) => `no worker has the role ${role}: ${WITHOUT_ROLE[role]}`)),
      ...downs.flat(),
      ...persistence,
      ...(this.blobs.fault === undefined ? [] : [`sends with a file: ${this.blobs.fault}`]),
      ...(this.clock.fault === undefined ? [] : [this.clock.fault]),
    ];
  }

  private async downReason({ id }: Account): Promise<string[]> {
    const keys = accountKeys(this.environment.REDIS_KEY_PREFIX, id);
    const [since, [fault, faultSince]] = await Promise.all([
      this.redis.hget(keys('upstream'), 'unavailableSince'),
      this.redis.hmget(keys('contact-list'), 'listFault', 'listFaultSince'),
    ]);
    if (since !== null) return [`upstream of account ${id} is down since ${readable(since)}`];
    if (fault == null || faultSince == null) return [];
    // One reading that fails says little.
    if (this.clock.now() - Number(faultSince) < LIST_FAILS_FOR_MS) return [];
    return [
      `the contact list of account ${id} cannot be read since ${readable(faultSince)}: ${fault}. ` +
        'Look whether its upstream address ends with the path of the API, such as /v1',
    ];
  }

  /** A Redis that keeps nothing over its restart loses sends that were taken. */
  private async persistenceReason(): Promise<string[]> {
    const persistence = await this.redis.info('persistence');
    return /^aof_enabled:0/m.test(persistence)
      ? ['Redis runs with appendonly no, and loses what was taken when it restarts: set appendonly yes']
      : [];
  }
}

/** Milliseconds or a date, as a date. */
function readable(since: string): string {
  const time = /^\d+$/.test(since) ? Number(since) : Date.parse(since);
  return Number.isNaN(time) || Math.abs(time) > 8.64e15 ? since : new Date(time).toISOString();
}
