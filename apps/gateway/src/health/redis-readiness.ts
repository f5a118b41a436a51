import { Inject, Injectable } from '@nestjs/common';
import { type Account, type AccountDirectory } from '#accounts';
import {
  accountKeys,
  type GatewayEnvironment,
  type RedisClient,
  type RedisClock,
  redisTime,
  withDeadline,
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

/** A worker that has not been heard of for so long counts as gone. */
const WORKER_SEEN_WITHIN_MS = 15_000;

/**
 * Finds out by a real write, at most once a second, however many ask.
 *
 * Workers note their beats in the sorted set `{prefix}:workers` (member: a worker's name; score: milliseconds of Redis'
 * clock); the account's hash `upstream` holds `unavailableSince` while upstream is down.
 */
@Injectable()
export class RedisReadiness {
  private last: { at: number; readiness: Promise<Readiness> } | undefined;

  constructor(
    @Inject(REDIS) private readonly redis: RedisClient,
    @Inject(ENVIRONMENT) private readonly environment: GatewayEnvironment,
    @Inject(ACCOUNTS) private readonly accounts: AccountDirectory,
    @Inject(BLOB_WATCH) private readonly blobs: BlobStoreWatch,
    @Inject(CLOCK) private readonly clock: Pick<RedisClock, 'fault'>,
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
    const workers = await this.redis.zcount(beats, since, '+inf');
    const downs = await Promise.all(accounts.map((account) => this.downReason(account)));
    return [
      ...(workers === 0 ? [`no worker was seen in the last ${WORKER_SEEN_WITHIN_MS / 1000} seconds`] : []),
      ...downs.flat(),
      ...(this.blobs.fault === undefined ? [] : [`sends with a file: ${this.blobs.fault}`]),
      ...(this.clock.fault === undefined ? [] : [this.clock.fault]),
    ];
  }

  private async downReason({ id }: Account): Promise<string[]> {
    const key = accountKeys(this.environment.REDIS_KEY_PREFIX, id)('upstream');
    const since = await this.redis.hget(key, 'unavailableSince');
    return since === null ? [] : [`upstream of account ${id} is down since ${readable(since)}`];
  }
}

/** Milliseconds or a date, as a date. */
function readable(since: string): string {
  const time = /^\d+$/.test(since) ? Number(since) : Date.parse(since);
  return Number.isNaN(time) || Math.abs(time) > 8.64e15 ? since : new Date(time).toISOString();
}
