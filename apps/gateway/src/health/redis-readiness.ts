import { Inject, Injectable } from '@nestjs/common';
import type { AccountDirectory } from '#accounts';
import {
  accountKeys,
  connectionErrorOf,
  hasAppendOnlyFile,
  readLiveHeartbeatMembers,
  okOrDegradedReadiness,
  type GatewayEnvironment,
  heartbeatSetRedisKey,
  type Logger,
  type Readiness,
  createReadiness,
  redisRefusalOf,
  type Reason,
  type RedisClient,
  type RedisClock,
  withDeadline,
} from '#platform';
import type { BlobStoreMonitor } from '#blobs';
import {
  ACCOUNTS,
  BLOB_STORE_MONITOR,
  CLOCK,
  ENVIRONMENT,
  LOGGER,
  READINESS_MAX_AGE_MS,
  REDIS,
  SHUTDOWN,
} from '../tokens.js';
import { type AccountReason, accountReasons, countedReasons } from './account-reasons.js';
import { mixReasons, workerReasons } from './process-reasons.js';

/** Timeout of a readiness check, in milliseconds. */
const CHECK_TIMEOUT_MS = 1_000;
/** Expiry of the key that a readiness check writes, in milliseconds. */
const CHECK_KEY_TTL_MS = 60_000;

/** The result of one readiness check, for all accounts. */
interface Findings {
  isReady: boolean;
  reasons: Reason[];
  accounts: Awaited<ReturnType<typeof accountReasons>>;
}

/** Readiness with the problems of individual accounts. */
export interface FullReadiness extends Readiness {
  accounts: AccountReason[];
}

/**
 * Determines the readiness of the gateway by a write to Redis, at most once a second.
 *
 * The heartbeats of all processes are in the sorted sets of {@link heartbeatSetRedisKey}. The problems of accounts
 * come from {@link accountReasons}.
 */
@Injectable()
export class RedisReadiness {
  private last: { at: number; findings: Promise<Findings> } | undefined;
  private loggedFault = '';

  constructor(
    @Inject(REDIS) private readonly redis: RedisClient,
    @Inject(ENVIRONMENT) private readonly environment: GatewayEnvironment,
    @Inject(ACCOUNTS) private readonly accounts: AccountDirectory,
    @Inject(BLOB_STORE_MONITOR) private readonly blobs: BlobStoreMonitor,
    @Inject(CLOCK) private readonly clock: Pick<RedisClock, 'fault' | 'now'>,
    @Inject(SHUTDOWN) private readonly shutdown: AbortSignal,
    @Inject(READINESS_MAX_AGE_MS) private readonly maxAgeMs: number,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /** Returns the readiness for the public: it names no account. */
  async check(): Promise<Readiness> {
    const { status, reasons, details } = await this.checkFor(() => true);
    return { status, reasons, details };
  }

  /**
   * Returns the readiness for a caller with an API key. Account problems are included only for accounts that the
   * caller may see.
   * @param maySee true for the id of an account that the caller may see
   */
  async checkFor(maySee: (account: string) => boolean): Promise<FullReadiness> {
    const { isReady, reasons, accounts } = await this.recentFindings();
    const seen = accounts.filter(({ account }) => maySee(account));
    const all = [...reasons, ...countedReasons(seen)];
    return {
      ...(isReady ? okOrDegradedReadiness(all) : createReadiness('unavailable', all)),
      accounts: seen,
    };
  }

  private async recentFindings(): Promise<Findings> {
    if (this.shutdown.aborted) {
      return unavailable({ code: 'stopping', count: 1, description: 'the gateway is stopping' });
    }
    const now = performance.now();
    if (this.last === undefined || now - this.last.at > this.maxAgeMs) {
      this.last = { at: now, findings: this.checkRedis() };
    }
    return await this.last.findings;
  }

  private async checkRedis(): Promise<Findings> {
    try {
      const findings = await withDeadline(
        this.writeAndRead(),
        CHECK_TIMEOUT_MS,
        'the readiness check of Redis',
      );
      this.loggedFault = '';
      return findings;
    } catch (error) {
      const connectionError = connectionErrorOf(this.redis);
      const { message } = connectionError ?? (error instanceof Error ? error : new Error(String(error)));
      this.logOnce(message);
      // Only the first word of an answer is published, because the message may contain the address of Redis.
      const refusal = redisRefusalOf(message);
      const fault = `the gateway cannot ${connectionError === undefined ? 'write' : 'connect'} to Redis`;
      const description = refusal === undefined ? fault : `${fault}, which answers ${refusal.word}`;
      return unavailable({ code: 'redis_unwritable', count: 1, description, remedy: refusal?.remedy });
    }
  }

  private logOnce(reason: string): void {
    if (reason !== this.loggedFault) this.logger.warn({ reason }, 'the gateway cannot write to Redis');
    this.loggedFault = reason;
  }

  private async writeAndRead(): Promise<Findings> {
    const prefix = this.environment.REDIS_KEY_PREFIX;
    const accounts = await this.accounts.list();
    // One write per account, because on a Redis Cluster the accounts are stored on different masters.
    const checkKeys = accounts.map(({ id }) => accountKeys(prefix, id)('health', 'probe'));
    await Promise.all(checkKeys.map((key) => this.redis.set(key, '1', 'PX', CHECK_KEY_TTL_MS)));
    const now = this.clock.now();
    const [workers, gateways, persistence, ...found] = await Promise.all([
      this.alive('workers'),
      this.alive('gateways'),
      this.persistenceReasons(),
      ...accounts.map((account) => accountReasons(this.redis, prefix, account, now)),
    ]);
    const ofAccounts = found.flat().sort((a, b) => (a.account < b.account ? -1 : 1));
    const reasons = [
      ...workerReasons(workers),
      ...mixReasons([...gateways, ...workers], now),
      ...persistence,
      ...this.blobReasons(),
      ...this.clockReasons(),
    ];
    return { isReady: true, reasons, accounts: ofAccounts };
  }

  /** Returns the member of every live process of one kind. */
  private alive(kind: 'gateways' | 'workers'): Promise<string[]> {
    return readLiveHeartbeatMembers(
      this.redis,
      heartbeatSetRedisKey(this.environment.REDIS_KEY_PREFIX, kind),
    );
  }

  /** Reports a Redis without an append-only file: a restart of Redis would lose stored sends. */
  private async persistenceReasons(): Promise<Reason[]> {
    if (await hasAppendOnlyFile(this.redis)) return [];
    const description =
      'Redis has no append-only file (appendonly no), so a restart of Redis loses stored sends';
    return [{ code: 'redis_not_persistent', count: 1, description }];
  }

  /** Reports an unusable blob store. The cause is only logged, because it may name files. */
  private blobReasons(): Reason[] {
    const { fault, peersWithoutMarker } = this.blobs;
    if (fault !== undefined) {
      const description = 'sends with a file are rejected, because the blob store cannot be used';
      return [{ code: 'blob_store_unusable', count: 1, description }];
    }
    if (peersWithoutMarker === 0) return [];
    const description = `sends with a file will fail: ${peersWithoutMarker} relay workers do not share the blob store of this gateway`;
    return [{ code: 'blob_store_not_shared', count: peersWithoutMarker, description }];
  }

  private clockReasons(): Reason[] {
    const { fault } = this.clock;
    return fault === undefined ? [] : [{ code: 'clock_off', count: 1, description: fault }];
  }
}

function unavailable(reason: Reason): Findings {
  return { isReady: false, reasons: [reason], accounts: [] };
}
