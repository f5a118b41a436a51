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
import type { BlobStoreWatch } from '#blobs';
import { ACCOUNTS, BLOB_WATCH, CLOCK, ENVIRONMENT, LOGGER, REDIS, SHUTDOWN } from '../tokens.js';
import { type AccountReason, accountReasons, countedReasons } from './account-reasons.js';
import { versionReasons, workerReasons } from './process-reasons.js';

const PROBE_WITHIN_MS = 1_000;
const KEPT_MS = 1_000;
const PROBE_LIVES_MS = 60_000;

/** What was found, of the installation and of each account. */
interface Findings {
  isReady: boolean;
  reasons: Reason[];
  accounts: Awaited<ReturnType<typeof accountReasons>>;
}

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
  private last: { at: number; findings: Promise<Findings> } | undefined;
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
    const { status, reasons, details } = await this.checkFor(() => true);
    return { status, reasons, details };
  }

  /**
   * For those who have a key: of the accounts that they may know of, each is named, and of others nothing is said.
   * @param maySee whether they may know of an account
   */
  async checkFor(maySee: (account: string) => boolean): Promise<FullReadiness> {
    const { isReady, reasons, accounts } = await this.find();
    const seen = accounts.filter(({ account }) => maySee(account));
    const all = [...reasons, ...countedReasons(seen)];
    return { ...(isReady ? degradedBy(all) : readinessOf('unavailable', all)), accounts: seen };
  }

  private async find(): Promise<Findings> {
    if (this.shutdown.aborted) {
      return unavailable({ code: 'stopping', count: 1, words: 'the gateway is stopping' });
    }
    const now = performance.now();
    if (this.last === undefined || now - this.last.at > KEPT_MS) {
      this.last = { at: now, findings: this.probe() };
    }
    return await this.last.findings;
  }

  private async probe(): Promise<Findings> {
    try {
      const findings = await withDeadline(this.writeAndLook(), PROBE_WITHIN_MS, 'the write probe');
      this.loggedFault = '';
      return findings;
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

  private async writeAndLook(): Promise<Findings> {
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
      ...persistence,
      ...this.blobReasons(),
      ...this.clockReasons(),
    ];
    return { isReady: true, reasons, accounts: ofAccounts };
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

function unavailable(reason: Reason): Findings {
  return { isReady: false, reasons: [reason], accounts: [] };
}
