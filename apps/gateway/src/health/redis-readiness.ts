import { Inject, Injectable } from '@nestjs/common';
import type { AccountDirectory } from '#accounts';
import {
  accountKeys,
  aliveIn,
  degradedBy,
  type GatewayEnvironment,
  instancesKey,
  type Logger,
  type Readiness,
  readinessOf,
  type Reason,
  type RedisClient,
  type RedisClock,
  withDeadline,
} from '#platform';
import type { BlobStoreWatch } from '#relay';
import { ACCOUNTS, BLOB_WATCH, CLOCK, ENVIRONMENT, LOGGER, REDIS, SHUTDOWN } from '../tokens.js';
import { type AccountReason, accountReasons, countedReasons } from './account-reasons.js';
import { versionReasons, workerReasons } from './process-reasons.js';

const PROBE_WITHIN_MS = 1_000;
const KEPT_MS = 1_000;
const PROBE_LIVES_MS = 60_000;

/** Readiness, and what is wrong of each account. */
export interface FullReadiness extends Readiness {
  accounts: AccountReason[];
}

/**
 * Finds out by a real write, at most once a second, however many ask.
 *
 * Processes note their beats in the sorted sets of {@link instancesKey}; what is noted of accounts, see {@link accountReasons}.
 */
@Injectable()
export class RedisReadiness {
  private last: { at: number; readiness: Promise<FullReadiness> } | undefined;
  private loggedFault = '';

  constructor(
    @Inject(REDIS) private readonly redis: RedisClient,
    @Inject(ENVIRONMENT) private readonly environment: GatewayEnvironment,
    @Inject(ACCOUNTS) private readonly accounts: AccountDirectory,
    @Inject(BLOB_WATCH) private readonly blobs: BlobStoreWatch,
    @Inject(CLOCK) private readonly clock: Pick<RedisClock, 'fault' | 'now'>,
    @Inject(SHUTDOWN) private readonly shutdown: AbortSignal,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /** For everybody: no account is named. */
  async check(): Promise<Readiness> {
    const { status, reasons, details } = await this.checkAll();
    return { status, reasons, details };
  }

  /** With what is wrong of each account: for those who may know. */
  async checkAll(): Promise<FullReadiness> {
    if (this.shutdown.aborted) {
      return unavailable({ code: 'stopping', count: 1, words: 'the gateway is stopping' });
    }
    const now = performance.now();
    if (this.last === undefined || now - this.last.at > KEPT_MS) {
      this.last = { at: now, readiness: this.probe() };
    }
    return await this.last.readiness;
  }

  private async probe(): Promise<FullReadiness> {
    try {
      const readiness = await withDeadline(this.writeAndLook(), PROBE_WITHIN_MS, 'the write probe');
      this.loggedFault = '';
      return readiness;
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      this.logOnce(message);
      // The error itself may name the address of Redis.
      const words = `Redis cannot be written${message.startsWith('OOM') ? ': it is full' : ''}`;
      return unavailable({ code: 'redis_unwritable', count: 1, words });
    }
  }

  private logOnce(reason: string): void {
    if (reason !== this.loggedFault) this.logger.warn({ reason }, 'Redis cannot be written');
    this.loggedFault = reason;
  }

  private async writeAndLook(): Promise<FullReadiness> {
    const prefix = this.environment.REDIS_KEY_PREFIX;
    const accounts = await this.accounts.list();
    // Where each account's sends are stored: on a Cluster that is one master of several.
    const probes = accounts.map(({ id }) => accountKeys(prefix, id)('health', 'probe'));
    await Promise.all(probes.map((probe) => this.redis.set(probe, '1', 'PX', PROBE_LIVES_MS)));
    const now = this.clock.now();
    const [workers, gateways, persistence, ...found] = await Promise.all([
      this.alive('workers'),
      this.alive('gateways'),
      this.persistenceReasons(),
      ...accounts.map(({ id }) => accountReasons(this.redis, prefix, id, now)),
    ]);
    const ofAccounts = found.flat().sort((a, b) => (a.account < b.account ? -1 : 1));
    const reasons = [
      ...workerReasons(workers),
      ...versionReasons([...gateways, ...workers], now),
      ...countedReasons(ofAccounts),
      ...persistence,
      ...this.blobReasons(),
      ...this.clockReasons(),
    ];
    return { ...degradedBy(reasons), accounts: ofAccounts };
  }

  /** What processes note of themselves, those that are alive. */
  private alive(kind: 'gateways' | 'workers'): Promise<string[]> {
    return aliveIn(this.redis, instancesKey(this.environment.REDIS_KEY_PREFIX, kind));
  }

  /** A Redis that keeps nothing over its restart loses sends that were taken. */
  private async persistenceReasons(): Promise<Reason[]> {
    const persistence = await this.redis.info('persistence');
    if (!/^aof_enabled:0/m.test(persistence)) return [];
    const words = 'Redis runs with appendonly no, and loses what was taken when it restarts';
    return [{ code: 'redis_not_persistent', count: 1, words }];
  }

  /** Why it cannot be used stands in the log: it may name files. */
  private blobReasons(): Reason[] {
    const { fault, unseen } = this.blobs;
    if (fault !== undefined) {
      const words = 'sends with a file cannot be taken: the blob store cannot be used';
      return [{ code: 'blob_store_unusable', count: 1, words }];
    }
    if (unseen === 0) return [];
    const words = `sends with a file will fail: ${unseen} of the workers that relay have another blob store`;
    return [{ code: 'blob_store_not_shared', count: unseen, words }];
  }

  private clockReasons(): Reason[] {
    const { fault } = this.clock;
    return fault === undefined ? [] : [{ code: 'clock_off', count: 1, words: fault }];
  }
}

function unavailable(reason: Reason): FullReadiness {
  return { ...readinessOf('unavailable', [reason]), accounts: [] };
}
