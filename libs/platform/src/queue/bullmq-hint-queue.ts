import { createHash } from 'node:crypto';
import type { Queue } from 'bullmq';
import type { Clock } from '../time/clock.js';

/** Later hints that fall due within the same stretch of so many milliseconds are one job, at the end of the stretch. */
const STRETCH_MS = 250;

/** A hint that something may have work: what it is about, and what its job carries. */
export interface Hint<Payload> {
  /** What it is about, such as an account and a lane; any text. */
  about: string;
  payload: Payload;
}

/**
 * Hints as BullMQ jobs. An immediate hint is a job of its own, whatever is waiting or running already: a hint that is
 * merged with an earlier one is lost with it, and an earlier one may be that of a process that died. Running one too
 * many does no harm.
 */
export class BullmqHintQueue<Payload> {
  /** @param queue the queue as it is now, asked for at every use. Its errors are listened to by whoever has made it. */
  constructor(
    private readonly queue: () => Queue<Payload>,
    private readonly clock: Clock,
  ) {}

  /** Hints in a queue that others own. */
  static in<Payload>(queue: Queue<Payload>, clock: Clock): BullmqHintQueue<Payload> {
    // The connection's own listener tells of it; without one here BullMQ would print it.
    queue.on('error', () => undefined);
    return new BullmqHintQueue(() => queue, clock);
  }

  /** Adds the hints, to be run after `delayMs` milliseconds. */
  async add(hints: readonly Hint<Payload>[], delayMs = 0): Promise<void> {
    await this.addAs(hints, ({ about }) => this.timing(about, delayMs));
  }

  /**
   * Adds hints that come again and again until they are followed, each unless an earlier one of the same second waits: so
   * those who add them faster than they are run do not fill the queue.
   */
  async remind(hints: readonly Hint<Payload>[]): Promise<void> {
    const second = Math.floor(this.clock.now() / 1_000);
    await this.addAs(hints, ({ about }) => ({ jobId: `${digest(about)}-s${second}` }));
  }

  private async addAs(
    hints: readonly Hint<Payload>[],
    options: (hint: Hint<Payload>) => object,
  ): Promise<void> {
    if (hints.length === 0) return;
    const jobs = hints.map((hint) => ({
      name: 'hint',
      data: hint.payload,
      opts: { ...options(hint), removeOnComplete: true, removeOnFail: true },
    }));
    // The payload's type is BullMQ's own inference from the queue's.
    await this.queue().addBulk(jobs as Parameters<Queue<Payload>['addBulk']>[0]);
  }

  private timing(about: string, delayMs: number): object {
    if (delayMs <= 0) return {};
    const now = this.clock.now();
    const stretch = Math.ceil((now + delayMs) / STRETCH_MS);
    return { jobId: `${digest(about)}-${stretch}`, delay: stretch * STRETCH_MS - now };
  }
}

/** In job ids a colon is not possible, and phone numbers have no place. */
function digest(about: string): string {
  return createHash('sha256').update(about).digest('hex').slice(0, 32);
}
