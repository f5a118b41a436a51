import { createHash } from 'node:crypto';
import type { Queue } from 'bullmq';
import type { Clock } from '../time/clock.js';

/**
 * Length of the intervals by which delayed hints (wake-up jobs) are grouped, in milliseconds. If the delays of
 * several hints about the same subject end in the same interval, these hints become one job, which runs at the end of
 * the interval.
 */
const INTERVAL_MS = 250;

/** A queue accepts no further recurring hints while this many jobs or more are waiting. */
const MAX_WAITING = 10_000;

/** A wake-up call for a worker: there may be work for the subject of the hint. */
export interface Hint<Payload> {
  /** Any text that names the subject of the hint, such as an account and a lane. */
  subject: string;
  payload: Payload;
}

/**
 * Stores hints (wake-up calls for workers) as BullMQ jobs. A hint without delay always becomes a new job. If the hint
 * were merged with an earlier job, it could be lost, because the process that runs the earlier job may have crashed.
 * An additional job does no harm.
 */
export class BullmqHintQueue<Payload> {
  /**
   * @param queue returns the queue; this function is called for every write, because the queue may be replaced. The
   * creator of the queue must listen to the queue's event `error`
   */
  constructor(
    private readonly queue: () => Queue<Payload>,
    private readonly clock: Clock,
  ) {}

  /** Creates a hint queue that writes to the given BullMQ queue. The caller must close that queue. */
  static onQueue<Payload>(queue: Queue<Payload>, clock: Clock): BullmqHintQueue<Payload> {
    // BullMQ prints the errors of a queue that has no listener for them. The empty listener prevents this, because
    // the listener of the Redis connection already reports the errors.
    queue.on('error', () => undefined);
    return new BullmqHintQueue(() => queue, clock);
  }

  /** Adds hints (wake-up jobs) that run after `delayMs` milliseconds, or at most {@link INTERVAL_MS} later. */
  async add(hints: readonly Hint<Payload>[], delayMs = 0): Promise<void> {
    await this.addAs(hints, ({ subject }) => this.timing(subject, delayMs));
  }

  /**
   * Adds hints (wake-up jobs) that the caller adds again and again until the work is done. A hint is skipped if a
   * hint about the same subject was added in the same second and has not run yet. While {@link MAX_WAITING} jobs or
   * more are waiting, all hints are skipped. The queue therefore stays short if hints are added faster than they run.
   */
  async addRecurring(hints: readonly Hint<Payload>[]): Promise<void> {
    if (hints.length === 0 || (await this.queue().getWaitingCount()) >= MAX_WAITING) return;
    const second = Math.floor(this.clock.now() / 1_000);
    await this.addAs(hints, ({ subject }) => ({ jobId: `${digest(subject)}-s${second}` }));
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
    // TypeScript cannot check this type, because BullMQ derives the type of a job from the type of the queue.
    await this.queue().addBulk(jobs as Parameters<Queue<Payload>['addBulk']>[0]);
  }

  private timing(about: string, delayMs: number): object {
    if (delayMs <= 0) return {};
    const now = this.clock.now();
    const interval = Math.ceil((now + delayMs) / INTERVAL_MS);
    return { jobId: `${digest(about)}-${interval}`, delay: interval * INTERVAL_MS - now };
  }
}

/** Hashes the subject of a hint, because a job id must contain neither a colon nor a phone number. */
function digest(about: string): string {
  return createHash('sha256').update(about).digest('hex').slice(0, 32);
}
