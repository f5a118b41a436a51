import type { Logger } from '#platform';
import type { BlobStore } from './blob-store.js';

const LOOK_EVERY_MS = 60_000;

/** Knows whether the blob store can be used: tried at the start, and again every minute. */
export class BlobStoreWatch {
  private timer: NodeJS.Timeout | undefined;
  private reason: string | undefined;

  constructor(
    private readonly blobs: BlobStore,
    private readonly logger: Logger,
    private readonly everyMs = LOOK_EVERY_MS,
  ) {}

  /** Why it could not be used when it was last tried, in words; undefined if it could. */
  get fault(): string | undefined {
    return this.reason;
  }

  /** Resolves when it was tried for the first time, however that went. */
  async start(): Promise<void> {
    await this.look();
    this.timer = setInterval(() => void this.look(), this.everyMs).unref();
  }

  stop(): void {
    clearInterval(this.timer);
  }

  private async look(): Promise<void> {
    try {
      await this.blobs.check();
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
