import type { Logger } from '#platform';
import type { BlobSharing } from './blob-sharing.js';
import type { BlobStore } from './blob-store.js';

const CHECK_INTERVAL_MS = 60_000;

/** Knows whether the blob store can be used, and is shared: tried at the start, and again every minute. */
export class BlobStoreWatch {
  private timer: NodeJS.Timeout | undefined;
  private reason: string | undefined;

  /** @param sharing left out for a process that neither stores nor relays files */
  constructor(
    private readonly blobs: Pick<BlobStore, 'check'>,
    private readonly logger: Logger,
    private readonly everyMs = CHECK_INTERVAL_MS,
    private readonly sharing?: Pick<BlobSharing, 'look' | 'leave' | 'unseen'>,
  ) {}

  /** Why it could not be used when it was last tried, in words; undefined if it could. */
  get fault(): string | undefined {
    return this.reason;
  }

  /** How many gateways or workers have another blob store than this process. */
  get unseen(): number {
    return this.sharing?.unseen ?? 0;
  }

  /** Resolves when it was tried for the first time, however that went. */
  async start(): Promise<void> {
    await this.look();
    this.timer = setInterval(() => void this.look(), this.everyMs).unref();
  }

  /** To be called once the others know that this process ends. */
  async stop(): Promise<void> {
    clearInterval(this.timer);
    await this.sharing?.leave();
  }

  private async look(): Promise<void> {
    try {
      await this.blobs.check();
      await this.sharing?.look();
      if (this.reason !== undefined) this.logger.info('the blob store can be used again');
      this.reason = undefined;
    } catch (error) {
      const words = error instanceof Error ? error.message : String(error);
      if (words !== this.reason)
        this.logger.error({ err: error }, 'sends with a file cannot be taken or relayed');
      this.reason = words;
    }
  }
}
