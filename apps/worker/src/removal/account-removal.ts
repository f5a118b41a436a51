import type { AccountStore, RedisAccountEraser, RemovedAccount } from '#accounts';
import { type Logger, pause } from '#platform';
import type { BlobStore, BlobStoreMonitor } from '#blobs';

/** Time between two checks for removed accounts, in milliseconds. */
const CHECK_INTERVAL_MS = 2_000;
/**
 * Time after a pass that found nothing, or that failed, until the next pass, in milliseconds. The next pass removes
 * data that was written after the earlier pass.
 */
const REPEAT_AFTER_MS = 30_000;
/** Maximum number of files listed at once. */
const MAX_FILES = 1_000;

/** Times of the removal of account data. */
export interface RemovalSettings {
  /**
   * Upper bound of the duration of any work that was running when the account was removed, in milliseconds, while
   * Redis answers.
   */
  lateMs: number;
  checkIntervalMs?: number;
  repeatAfterMs?: number;
}

/**
 * Removes all Redis keys and files of removed accounts. Work that was running during the removal may still write
 * data. Passes are therefore repeated until a pass that began after the end of all such work finds nothing. Only then
 * is the account id free again. A worker frees the id only if at least one gateway runs and the blob store of the
 * worker contains the process markers of all running gateways. Otherwise, the gateways may have stored files in
 * another blob store. Any number of workers may remove data at the same time, and each may crash at any point.
 *
 * If Redis does not answer a worker for longer than `lateMs` allows for, that worker may still write a few keys
 * afterwards, for example the record of an outage. These keys stay in Redis. If an account with this id is created
 * again, the first successful probe ends such an outage.
 */
export class AccountRemoval {
  private readonly stopping = new AbortController();
  private readonly checkIntervalMs: number;
  private readonly repeatAfterMs: number;
  /**
   * Earliest time of the next pass of each account, as `performance.now()`. An account without an entry is
   * due now.
   */
  private readonly notBefore = new Map<string, number>();
  private running: Promise<void> = Promise.resolve();

  constructor(
    private readonly accounts: Pick<AccountStore, 'listRemoved' | 'deleteRemovalRecord'> & {
      now(): Promise<number>;
    },
    private readonly erasure: Pick<RedisAccountEraser, 'pass'>,
    private readonly blobs: Pick<BlobStore, 'list' | 'remove'>,
    private readonly blobStoreMonitor: Pick<BlobStoreMonitor, 'isSharingConfirmed'>,
    private readonly settings: RemovalSettings,
    private readonly logger: Logger,
  ) {
    this.checkIntervalMs = settings.checkIntervalMs ?? CHECK_INTERVAL_MS;
    this.repeatAfterMs = settings.repeatAfterMs ?? REPEAT_AFTER_MS;
  }

  start(): void {
    this.running = this.run();
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.running;
  }

  /** Runs a pass for each removed account whose pass is due. */
  async runDuePasses(): Promise<void> {
    const removed = await this.accounts.listRemoved();
    for (const id of this.notBefore.keys()) {
      if (!removed.some((account) => account.id === id)) this.notBefore.delete(id);
    }
    for (const account of removed) {
      if (this.stopping.signal.aborted) return;
      if (performance.now() < (this.notBefore.get(account.id) ?? 0)) continue;
      await this.tryPass(account);
    }
  }

  private async run(): Promise<void> {
    while (!this.stopping.signal.aborted) {
      try {
        await this.runDuePasses();
      } catch (error) {
        this.logger.warn({ err: error }, 'could not read the list of removed accounts; retrying');
      }
      await pause(this.checkIntervalMs, this.stopping.signal);
    }
  }

  /** Runs a pass. An error affects only this account. */
  private async tryPass(account: RemovedAccount): Promise<void> {
    try {
      await this.pass(account);
    } catch (error) {
      this.notBefore.set(account.id, performance.now() + this.repeatAfterMs);
      this.logger.warn(
        { account: account.id, err: error },
        'could not remove the data of a removed account; retrying',
      );
    }
  }

  private async pass(account: RemovedAccount): Promise<void> {
    const { id, removedAt } = account;
    const allWorkHasEnded = (await this.accounts.now()) - removedAt > this.settings.lateMs;
    const { signal } = this.stopping;
    await this.erasure.pass(id, () => this.isRemoved(account), {
      signal,
      afterPass: async (keys, isOurs) => {
        const files = await this.removeFiles(account);
        if (signal.aborted) return;
        if (keys + files > 0)
          this.logger.info(
            { account: id, keys, files },
            'removed Redis keys and files of a removed account; checking again until none are left',
          );
        else if (!allWorkHasEnded || !this.blobStoreMonitor.isSharingConfirmed)
          this.notBefore.set(id, performance.now() + this.repeatAfterMs);
        else if (await isOurs()) await this.forget(account);
      },
    });
  }

  /**
   * Frees the account id. Called while this worker holds the erasure lease: a later pass could delete data of
   * a new account with the same id.
   */
  private async forget(account: RemovedAccount): Promise<void> {
    await this.accounts.deleteRemovalRecord(account);
    this.notBefore.delete(account.id);
    this.logger.info(
      { account: account.id },
      'removed all data of a removed account; the account id can be used again',
    );
  }

  private async isRemoved({ id, removedAt }: RemovedAccount): Promise<boolean> {
    return (await this.accounts.listRemoved()).some((now) => now.id === id && now.removedAt === removedAt);
  }

  private async removeFiles(account: RemovedAccount): Promise<number> {
    let count = 0;
    for (;;) {
      const files = await this.blobs.list(account.id, '', MAX_FILES);
      // The blob store has no leases. If this process was paused, another worker may have freed the id, and a new
      // account may use it.
      if (files.length === 0 || !(await this.isRemoved(account))) return count;
      for (const { id } of files) {
        if (this.stopping.signal.aborted) return count;
        await this.blobs.remove(id);
        count += 1;
      }
    }
  }
}
