import { Inject, Injectable, type OnModuleDestroy } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import type { ApiKeyUses } from '#accounts';
import type { Clock, Logger } from '#platform';
import { API_KEY_USES, CLOCK, LOGGER } from '../tokens.js';

/** Minimum time between two recorded uses of one API key, in milliseconds. */
const INTERVAL_MS = 60_000;
/** Time for which uses are collected before they are recorded together, in milliseconds. */
const BATCH_MS = 1_000;
/**
 * Maximum number of API keys whose last recorded use is remembered. If more keys are in use, uses may be recorded
 * more often than once per {@link INTERVAL_MS}.
 */
const MAX_KEYS = 10_000;

/**
 * Records when each API key was last used, at most once a minute for each key and process. Requests do not wait for
 * the write. Uses that cannot be recorded are forgotten.
 */
@Injectable()
export class ApiKeyUseRecorder implements OnModuleDestroy {
  /** Times of the last uses that were recorded or are pending, by the ids of the API keys. */
  private readonly noted = new LRUCache<string, number>({ max: MAX_KEYS });
  /** Times of the uses that are not recorded yet, by the ids of the API keys. */
  private pending = new Map<string, number>();
  private timer: NodeJS.Timeout | undefined;

  constructor(
    @Inject(API_KEY_USES) private readonly uses: Pick<ApiKeyUses, 'recordUses'>,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /** Notes that an API key, or a token of it, was used now. */
  note(keyId: string): void {
    const now = this.clock.now();
    if (now - (this.noted.get(keyId) ?? -Infinity) < INTERVAL_MS) return;
    this.noted.set(keyId, now);
    this.pending.set(keyId, now);
    // Never rejects: `flush` handles what the store may throw.
    this.timer ??= setTimeout(() => void this.flush(), BATCH_MS).unref();
  }

  async onModuleDestroy(): Promise<void> {
    await this.flush();
  }

  private async flush(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    const uses = this.pending;
    if (uses.size === 0) return;
    this.pending = new Map();
    try {
      await this.uses.recordUses(uses);
    } catch (error) {
      this.logger.debug({ err: error, apiKeys: uses.size }, 'could not record when API keys were last used');
    }
  }
}
