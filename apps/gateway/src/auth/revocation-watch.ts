import { Inject, Injectable } from '@nestjs/common';
import type { Revocations } from '#accounts';
import { type Logger, pause } from '#platform';
import { isStoreFault } from '../problems/store-fault.js';
import { LOGGER, REVOCATIONS } from '../tokens.js';

/** Interval at which the revocations are read while there are followers, in milliseconds. */
const READ_INTERVAL_MS = 250;

type Listener = () => void;

/**
 * Notifies long requests of the revocation of their token, session or API key, within about 250 ms. One loop per
 * gateway reads the new revocations, whatever the number of requests. Redis may lose revocations in a failover, so
 * long requests also check their credential at longer intervals.
 */
@Injectable()
export class RevocationWatch {
  private readonly listeners = new Map<string, Set<Listener>>();
  /** 1 while the loop runs, otherwise 0. */
  private loops = 0;
  private starting: Promise<string> | undefined;

  constructor(
    @Inject(REVOCATIONS) private readonly revocations: Revocations,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /**
   * Calls `onRevoked` when one of these tokens, sessions or API keys is revoked after this promise resolved. The caller must
   * then check that none of them was revoked earlier.
   * @param ids ids of tokens, sessions and API keys
   * @returns function that ends the notifications
   */
  async follow(ids: readonly string[], onRevoked: Listener): Promise<() => void> {
    for (const id of ids) {
      const known = this.listeners.get(id) ?? new Set();
      this.listeners.set(id, known.add(onRevoked));
    }
    const stop = (): void => {
      for (const id of ids) {
        const known = this.listeners.get(id);
        known?.delete(onRevoked);
        if (known?.size === 0) this.listeners.delete(id);
      }
    };
    try {
      await this.start();
    } catch (error) {
      stop();
      throw error;
    }
    return stop;
  }

  private async start(): Promise<void> {
    if (this.hasLoop()) return;
    this.starting ??= this.revocations.end().finally(() => (this.starting = undefined));
    const position = await this.starting;
    // Several followers may have waited for the same position. The first one starts the loop.
    if (this.hasLoop()) return;
    this.loops = 1;
    // Never rejects: `read` handles what the store may throw.
    void this.run(position);
  }

  private async run(from: string): Promise<void> {
    let position = from;
    while (this.listeners.size > 0) {
      await pause(READ_INTERVAL_MS);
      if (this.listeners.size > 0) position = await this.read(position);
    }
    this.loops = 0;
  }

  private hasLoop(): boolean {
    return this.loops > 0;
  }

  private async read(after: string): Promise<string> {
    try {
      const { ids, position } = await this.revocations.after(after);
      for (const id of ids) for (const listener of [...(this.listeners.get(id) ?? [])]) listener();
      return position;
    } catch (error) {
      // While Redis is unavailable, nothing can be revoked, and no event can be read.
      if (!isStoreFault(error))
        this.logger.error({ err: error }, 'could not read from Redis which tokens were revoked');
      return after;
    }
  }
}
