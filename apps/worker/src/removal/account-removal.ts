import type { AccountStore, RedisAccountErasure, RemovedAccount } from '#accounts';
import { type Logger, pause } from '#platform';
import type { BlobStore } from '#blobs';

const LOOK_EVERY_MS = 2_000;
/** Between two passes of which the first found nothing: for what is written late. */
const AGAIN_MS = 30_000;
const MOST_FILES = 1_000;

export interface RemovalSettings {
  /** Longer than any work can take that was in flight when the account was removed, in ms. */
  lateMs: number;
  lookEveryMs?: number;
  againMs?: number;
}

/**
 * Removes the data of accounts that were removed: all keys and files. What was in flight then may still write, so passes
 * are made until one finds nothing that began when all of that had ended; only then is the id free again. Any number of
 * workers may do it, and each may end at any instruction.
 */
export class AccountRemoval {
  private readonly stopping = new AbortController();
  private readonly lookEveryMs: number;
  private readonly againMs: number;
  /** When the next pass is due, by `performance.now()`; absent: now. */
  private readonly notBefore = new Map<string, number>();
  private running: Promise<void> = Promise.resolve();

  constructor(
    private readonly accounts: Pick<AccountStore, 'removed' | 'forget'> & { now(): Promise<number> },
    private readonly erasure: Pick<RedisAccountErasure, 'pass'>,
    private readonly blobs: Pick<BlobStore, 'list' | 'remove'>,
    private readonly settings: RemovalSettings,
    private readonly logger: Logger,
  ) {
    this.lookEveryMs = settings.lookEveryMs ?? LOOK_EVERY_MS;
    this.againMs = settings.againMs ?? AGAIN_MS;
  }

  start(): void {
    this.running = this.run();
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.running;
  }

  /** Makes a pass for each removed account for which one is due. */
  async look(): Promise<void> {
    const removed = await this.accounts.removed();
    for (const id of this.notBefore.keys()) {
      if (!removed.some((account) => account.id === id)) this.notBefore.delete(id);
    }
    for (const account of removed) {
      if (this.stopping.signal.aborted) return;
      if (performance.now() < (this.notBefore.get(account.id) ?? 0)) continue;
      await this.attempt(account);
    }
  }

  private async run(): Promise<void> {
    while (!this.stopping.signal.aborted) {
      try {
        await this.look();
      } catch (error) {
        this.logger.warn({ err: error }, 'the removed accounts could not be read; trying again');
      }
      await pause(this.lookEveryMs, this.stopping.signal);
    }
  }

  /** One account's trouble is not another's. */
  private async attempt(account: RemovedAccount): Promise<void> {
    try {
      await this.pass(account);
    } catch (error) {
      this.notBefore.set(account.id, performance.now() + this.againMs);
      this.logger.warn({ account: account.id, err: error }, 'the data of a removed account stays for now');
    }
  }

  private async pass(account: RemovedAccount): Promise<void> {
    const { id, removedAt } = account;
    const isOver = (await this.accounts.now()) - removedAt > this.settings.lateMs;
    const { signal } = this.stopping;
    await this.erasure.pass(id, () => this.isRemoved(account), {
      signal,
      then: async (keys, isOurs) => {
        const files = await this.removeFiles(account);
        if (signal.aborted) return;
        if (keys + files > 0)
          this.logger.info({ account: id, keys, files }, 'data of a removed account was removed');
        else if (!isOver) this.notBefore.set(id, performance.now() + this.againMs);
        else if (await isOurs()) await this.forget(account);
      },
    });
  }

  /** While nobody else is at it: a pass that ended after this could meet the next account of this id. */
  private async forget(account: RemovedAccount): Promise<void> {
    await this.accounts.forget(account);
    this.notBefore.delete(account.id);
    this.logger.info({ account: account.id }, 'all data of a removed account is gone; its id is free');
  }

  private async isRemoved({ id, removedAt }: RemovedAccount): Promise<boolean> {
    return (await this.accounts.removed()).some((now) => now.id === id && now.removedAt === removedAt);
  }

  private async removeFiles(account: RemovedAccount): Promise<number> {
    let count = 0;
    for (;;) {
      const files = await this.blobs.list(account.id, '', MOST_FILES);
      // The blob store knows no leases: the id may have been given away while this process was paused.
      if (files.length === 0 || !(await this.isRemoved(account))) return count;
      for (const { id } of files) {
        if (this.stopping.signal.aborted) return count;
        await this.blobs.remove(id);
        count += 1;
      }
    }
  }
}
